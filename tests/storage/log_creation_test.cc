#include "storage/log_creation.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/dir_lock.h"
#include "storage/log_dir_writer.h"
#include "storage/log_settings.h"
#include "storage/log_writer.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_backend.h"

namespace offsetfs::storage {
namespace {

namespace stdfs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;
using testing::UnorderedElementsAre;

std::string content_of(const stdfs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> names_in(const stdfs::path& path) {
  std::vector<std::string> names;
  for (const auto& entry : stdfs::directory_iterator(path))
    names.push_back(entry.path().filename().string());
  return names;
}

// What a kill before it leaves is not what a kill before the last such call left.
bool changes_files(const __ptrace_syscall_info& info) {
  if (info.op != PTRACE_SYSCALL_INFO_ENTRY) return false;
  switch (info.entry.nr) {
    case SYS_openat: return (info.entry.args[2] & O_CREAT) != 0;
    case SYS_mkdirat:
    case SYS_write:
    case SYS_pwrite64:
    case SYS_ftruncate:
    case SYS_renameat:
    case SYS_renameat2:
    case SYS_unlinkat:
#ifdef SYS_mkdir
    case SYS_mkdir:
    case SYS_rename:
    case SYS_unlink:
#endif
      return true;
    default: return false;
  }
}

// Runs the story in a process of its own, which is killed as it enters the nth call that changes
// files. False: it ended before.
bool is_killed_at(int nth, const std::function<void()>& story) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(2);
    (void)::raise(SIGSTOP);
    story();
    ::_exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSTOPPED(status)) << "not traced: " << status;
  ::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  for (int calls = 0; WIFSTOPPED(status);) {
    __ptrace_syscall_info info{};
    if (::ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info) > 0 && changes_files(info) &&
        ++calls == nth) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      return true;
    }
    EXPECT_EQ(::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr), 0);
    EXPECT_EQ(::waitpid(child, &status, 0), child);
  }
  return false;
}

class LogCreation : public testing::Test {
 protected:
  NewLog orders(std::int32_t partition = 0) const {
    NewLog log;
    log.log_dir = log_dir_;
    log.topic_partition = {"orders", partition};
    return log;
  }
  std::string made(const NewLog& log) const {
    const auto path = create_log(log);
    if (!path) ADD_FAILURE() << path.error().what;
    return path ? *path : "";
  }
  Error refusal(const NewLog& log) const {
    const auto path = create_log(log);
    EXPECT_FALSE(path) << *path;
    if (path) return {};
    EXPECT_THAT(path.error().what, testing::Not(HasSubstr("\n")));
    return path.error();
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(log_dir_ + "/" + name, std::ios::binary) << text;
  }

  const tests::TempDir temp_;
  const std::string log_dir_ = temp_ / "logs";
};

TEST_F(LogCreation, MakesWhatABrokerLeavesOfANewPartition) {
  const auto path = made(orders(3));
  EXPECT_EQ(path, log_dir_ + "/orders-3");
  EXPECT_THAT(names_in(path),
              UnorderedElementsAre("00000000000000000000.log", "00000000000000000000.index",
                                   "00000000000000000000.timeindex", "partition.metadata",
                                   "leader-epoch-checkpoint"));
  EXPECT_EQ(stdfs::file_size(path + "/00000000000000000000.log"), 0U);
  EXPECT_EQ(content_of(path + "/leader-epoch-checkpoint"), "0\n1\n0 0\n");
  EXPECT_THAT(content_of(path + "/partition.metadata"), StartsWith("version: 0\ntopic_id: "));
  EXPECT_THAT(
      names_in(log_dir_),
      UnorderedElementsAre("orders-3", ".kafka_cleanshutdown", "recovery-point-offset-checkpoint",
                           "log-start-offset-checkpoint", "replication-offset-checkpoint"));
}

TEST_F(LogCreation, PartitionsOfATopicShareItsId) {
  const auto first = made(orders(0));
  const auto second = made(orders(1));
  auto other = orders(0);
  other.topic_partition.topic = "orders-1";  // whose directory is orders-1-0
  const auto third = made(other);
  EXPECT_EQ(content_of(first + "/partition.metadata"), content_of(second + "/partition.metadata"));
  EXPECT_NE(content_of(first + "/partition.metadata"), content_of(third + "/partition.metadata"));

  auto stranger = orders(2);
  stranger.topic_id = random_uuid();
  EXPECT_THAT(refusal(stranger).what, HasSubstr("leave --topic-id out"));
}

TEST_F(LogCreation, KeepsTheSettingsBesideTheLog) {
  auto log = orders();
  log.settings = {{"segment.bytes", "2097152"}, {"cleanup.policy", "compact,delete"}};
  const auto path = made(log);
  const auto dir = PosixWriteDir::open(path, tests::test_backend());
  ASSERT_TRUE(dir);
  const auto settings = read_log_settings(**dir);
  ASSERT_TRUE(settings);
  EXPECT_EQ(*settings, log.settings);

  std::ofstream(path + "/offsetfs.properties") << "segment.bytes=many\n";
  const auto damaged = read_log_settings(**dir);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, Errc::kCorrupt);
  EXPECT_THAT(damaged.error().what, HasSubstr("orders-0/offsetfs.properties: segment.bytes"));
}

TEST_F(LogCreation, WhatIsMadeCanBeAppendedTo) {
  const auto path = made(orders());
  auto lock = DirLock::acquire(log_dir_);
  ASSERT_TRUE(lock);
  auto log_dir = PosixWriteDir::open(log_dir_, tests::test_backend());
  auto dir = PosixWriteDir::open(path, tests::test_backend());
  ASSERT_TRUE(log_dir && dir);
  auto checkpoints = LogDirWriter::open(*log_dir, std::move(*lock));
  ASSERT_TRUE(checkpoints);
  RecoveryReport report;
  const auto writer = LogWriter::open(*dir, *checkpoints, {"orders", 0}, {}, &report);
  ASSERT_TRUE(writer) << writer.error().what;
  EXPECT_TRUE(report.was_clean);
  EXPECT_EQ((*writer)->log_end_offset(), Offset{0});
}

TEST_F(LogCreation, ALogThatIsThereStaysAsItIs) {
  const auto path = made(orders());
  write("orders-0/00000000000000000000.log", "records");
  const auto error = refusal(orders());
  EXPECT_EQ(error.code, Errc::kBusy);
  EXPECT_THAT(error.what, HasSubstr("offsetfs append"));
  EXPECT_EQ(content_of(path + "/00000000000000000000.log"), "records");
  EXPECT_TRUE(stdfs::exists(log_dir_ + "/.kafka_cleanshutdown"));
}

TEST_F(LogCreation, ACreationThatWasCutShortIsFinished) {
  stdfs::create_directories(log_dir_ + "/orders-0");
  const auto id = random_uuid();
  write("orders-0/partition.metadata", "version: 0\ntopic_id: " + id.to_string());
  const auto path = made(orders());
  EXPECT_THAT(content_of(path + "/partition.metadata"), HasSubstr(id.to_string()));
  EXPECT_TRUE(stdfs::exists(path + "/00000000000000000000.log"));
}

TEST_F(LogCreation, WhateverAKillLeavesIsFinishedByTheSameAgain) {
  auto log = orders(3);
  log.broker = true;
  int finished = 0;
  for (int call = 1;; ++call) {
    stdfs::remove_all(log_dir_);
    if (!is_killed_at(call, [&] { (void)create_log(log); })) break;
    if (const auto path = create_log(log)) {
      ++finished;
    } else {
      EXPECT_EQ(path.error().code, Errc::kBusy) << path.error().what;  // all was done
    }
    ASSERT_THAT(names_in(log_dir_ + "/orders-3"),
                UnorderedElementsAre("00000000000000000000.log", "00000000000000000000.index",
                                     "00000000000000000000.timeindex", "partition.metadata",
                                     "leader-epoch-checkpoint"))
        << call;
    ASSERT_THAT(
        names_in(log_dir_),
        UnorderedElementsAre("orders-3", ".kafka_cleanshutdown", "recovery-point-offset-checkpoint",
                             "log-start-offset-checkpoint", "replication-offset-checkpoint",
                             "meta.properties", "bootstrap.checkpoint", "server.properties"))
        << call;
    ASSERT_THAT(content_of(log_dir_ + "/bootstrap.checkpoint"), HasSubstr("orders")) << call;
  }
  EXPECT_GT(finished, 30);
}

TEST_F(LogCreation, WhatWasAppendedToACreationThatWasCutShortStays) {
  auto log = orders();
  log.settings = {{"segment.bytes", "1048576"}, {"preallocate", "true"}};
  const auto path = made(log);
  write("orders-0/offsetfs.unfinished", "");
  write("orders-0/00000000000000000000.log", std::string(1 << 20, '\0'));
  EXPECT_EQ(made(log), path);
  write("orders-0/offsetfs.unfinished", "");
  write("orders-0/00000000000000000000.log", std::string(11, '\0') + "1 and so on");
  EXPECT_EQ(refusal(log).code, Errc::kBusy);
}

TEST_F(LogCreation, ALogThatIsMadeAnewInheritsNothing) {
  made(orders(1));
  const auto path = made(orders());
  stdfs::remove_all(path);
  for (const char* checkpoint : {"recovery-point-offset-checkpoint", "log-start-offset-checkpoint",
                                 "replication-offset-checkpoint", "cleaner-offset-checkpoint"})
    write(checkpoint, "0\n2\norders 0 1000\norders 1 0\n");
  ASSERT_EQ(made(orders()), path);
  EXPECT_TRUE(stdfs::exists(path + "/00000000000000000000.log"));
  EXPECT_EQ(content_of(log_dir_ + "/recovery-point-offset-checkpoint"),
            "0\n2\norders 0 0\norders 1 0\n");
  EXPECT_EQ(content_of(log_dir_ + "/log-start-offset-checkpoint"), "0\n1\norders 1 0\n");
  EXPECT_EQ(content_of(log_dir_ + "/cleaner-offset-checkpoint"), "0\n1\norders 1 0\n");
}

TEST_F(LogCreation, SettingsOfACreationThatWasCutShortAreNotTheNextOnes) {
  stdfs::create_directories(log_dir_ + "/orders-0");
  write("orders-0/offsetfs.properties", "retention.ms=1000\n");
  EXPECT_FALSE(stdfs::exists(made(orders()) + "/offsetfs.properties"));
}

TEST_F(LogCreation, AHeldLogDirectoryIsRefusedEvenByForce) {
  stdfs::create_directory(log_dir_);
  const auto held = DirLock::acquire(log_dir_);
  ASSERT_TRUE(held);
  auto log = orders();
  log.force = true;
  const auto error = refusal(log);
  EXPECT_EQ(error.code, Errc::kBusy);
  EXPECT_THAT(error.what, HasSubstr(".lock: held by"));
  EXPECT_FALSE(stdfs::exists(log_dir_ + "/orders-0"));
}

TEST_F(LogCreation, ABrokersDirectoryIsRefusedButByForce) {
  stdfs::create_directory(log_dir_);
  write("meta.properties", "version=1\nnode.id=1\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\n");
  const auto error = refusal(orders());
  EXPECT_EQ(error.code, Errc::kReadOnly);
  EXPECT_THAT(error.what, HasSubstr("--force"));
  EXPECT_THAT(names_in(log_dir_), UnorderedElementsAre("meta.properties"));

  auto log = orders();
  log.force = true;
  EXPECT_EQ(made(log), log_dir_ + "/orders-0");
}

TEST_F(LogCreation, EveryRefusalSaysWhatToDo) {
  struct Row {
    std::function<void(NewLog&)> change;
    Errc code;
    std::string says;
  };
  stdfs::create_directory(log_dir_);
  stdfs::create_directory_symlink("/", log_dir_ + "/link-0");
  write("file", "");
  stdfs::create_directory(temp_ / "orders-7");
  std::ofstream(temp_ / "orders-7/00000000000000000000.log") << "records";
  for (const auto& [change, code, says] : std::initializer_list<Row>{
           {[](auto& log) { log.topic_partition.topic = "a b"; }, Errc::kInvalid, "ASCII letters"},
           {[](auto& log) { log.topic_partition.topic = ".."; }, Errc::kInvalid, "neither"},
           {[](auto& log) { log.topic_partition.topic.assign(250, 'a'); }, Errc::kInvalid, "249"},
           {[](auto& log) { log.topic_partition.partition = -1; }, Errc::kInvalid, "from 0"},
           {[](auto& log) { log.settings["segment.bytes"] = "1048575"; }, Errc::kInvalid,
            "Invalid value 1048575 for configuration segment.bytes: Value must be at least "
            "1048576"},
           {[](auto& log) { log.log_dir += "/no/such"; }, Errc::kNotFound, "mkdir -p"},
           {[](auto& log) { log.log_dir += "/file"; }, Errc::kInvalid, "no directory"},
           {[](auto& log) { log.topic_partition.topic = "link"; }, Errc::kInvalid, "symbolic link"},
           {[&](auto& log) { log.log_dir = temp_ / "orders-7"; }, Errc::kInvalid, "the one above"},
       }) {
    auto log = orders();
    change(log);
    const auto error = refusal(log);
    EXPECT_EQ(error.code, code) << says;
    EXPECT_THAT(error.what, HasSubstr(says));
  }
}

}  // namespace
}  // namespace offsetfs::storage
