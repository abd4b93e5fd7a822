#include "fs/file_system.h"

#include <cerrno>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fs/node_table.h"
#include "storage/log_dir.h"
#include "tests/support/log_builder.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_backend.h"

namespace offsetfs::fs {
namespace {

using storage::Errc;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using tests::keyed;
using tests::LogBuilder;
using tests::TempDir;
using tests::TestRecord;

User root() { return {0, 0, {}}; }

// A file system over a source, asked by paths as the kernel asks by numbers.
class Mounted {
 public:
  explicit Mounted(const std::string& source, const FileSystemOptions& options = {})
      : source_(storage::LogDir::open({source}, tests::test_backend(), {}).value()),
        file_system(source_, options,
                    [this](LogLevel, const std::string& line) { log.push_back(line); }) {}

  storage::Result<FileSystem::Entry> lookup(const std::string& path) {
    FileSystem::Entry entry;
    entry.ino = kRootId;
    std::size_t begin = 0;
    while (begin < path.size()) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      auto found = file_system.lookup(entry.ino, path.substr(begin, end - begin));
      if (!found) return found;
      entry = *found;
      if (entry.ino == 0) return storage::fail(Errc::kNotFound, "never");
      begin = end + 1;
    }
    return entry;
  }

  std::unique_ptr<OpenFile> open(const std::string& path) {
    const auto entry = lookup(path);
    if (!entry) throw std::runtime_error(path + ": " + entry.error().what);
    if (!file_system.opens_slowly(entry->ino)) return file_system.open(entry->ino).value();
    std::promise<storage::Result<std::unique_ptr<OpenFile>>> opened;
    file_system.open_slowly(entry->ino, [&](auto file) { opened.set_value(std::move(file)); });
    return opened.get_future().get().value();
  }

  std::string read(const std::string& path) {
    const auto file = open(path);
    std::string text;
    std::string buffer;
    for (;;) {
      const auto bytes = file->read(text.size(), 4096, buffer).value();
      if (bytes.empty()) return text;
      text += bytes;
    }
  }

  std::vector<std::string> list(const std::string& path) {
    const auto listing = file_system.open_directory(lookup(path)->ino).value();
    std::vector<std::string> names;
    EXPECT_TRUE(listing->list(0, false, [&](const FileSystem::Name& name) {
      names.emplace_back(name.name);
      return true;
    }));
    return names;
  }

 private:
  const std::shared_ptr<const storage::LogDir> source_;

 public:
  std::vector<std::string> log;
  FileSystem file_system;
};

class FileSystemTest : public testing::Test {
 protected:
  TempDir temp_;
  const std::string dir_ = temp_ / "data/orders-3";
};

TEST_F(FileSystemTest, ARecordIsLookedUpOpenedAndRead) {
  LogBuilder(dir_).batch({keyed("k", "hello")}).build();
  Mounted mounted(dir_);
  EXPECT_EQ(mounted.read("offsets/0"), "hello");
  EXPECT_EQ(mounted.read("offsets/0.key"), "k");
  const auto entry = mounted.lookup("offsets/0");
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->attributes.stat.st_size, 5);
  EXPECT_EQ(entry->attributes.stat.st_ino, entry->ino);
  EXPECT_THAT(mounted.log, IsEmpty());
}

TEST_F(FileSystemTest, AnOpenWithoutTheLookupBeforeItFindsTheSame) {
  LogBuilder(dir_).batch({"a", "b"}).build();
  Mounted mounted(dir_);
  const auto entry = mounted.lookup("offsets/1");
  std::string buffer;
  for (int i = 0; i < 3; ++i) {
    const auto file = mounted.file_system.open(entry->ino);
    ASSERT_TRUE(file);
    EXPECT_EQ((*file)->read(0, 10, buffer).value(), "b");
  }
}

TEST_F(FileSystemTest, ReadsBeyondTheEndAreEmptyAndThoseAcrossItShort) {
  LogBuilder(dir_).batch({"hello"}).build();
  Mounted mounted(dir_);
  const auto file = mounted.open("offsets/0");
  std::string buffer;
  EXPECT_EQ(file->read(3, 10, buffer).value(), "lo");
  EXPECT_EQ(file->read(5, 10, buffer).value(), "");
  EXPECT_EQ(file->read(std::uint64_t{1} << 62, 10, buffer).value(), "");
}

TEST_F(FileSystemTest, WhatCanNeverBeIsSaidForGoodAndWhatMayComeIsNot) {
  LogBuilder(dir_).offset(5).batch({"a"}).build();
  Mounted mounted(dir_);
  const auto offsets = mounted.lookup("offsets")->ino;
  for (const char* name : {"abc", "05", "-1", "4", "6.json5"}) {
    const auto entry = mounted.file_system.lookup(offsets, name);
    ASSERT_TRUE(entry) << name;
    EXPECT_EQ(entry->ino, 0U) << name;
    EXPECT_EQ(entry->entry_timeout, kForever) << name;
  }
  for (const char* name : {"6", "6.json", "6..7.jsonl"}) {
    const auto entry = mounted.file_system.lookup(offsets, name);
    ASSERT_FALSE(entry) << name;
    EXPECT_EQ(entry.error().code, Errc::kNotFound) << name;
  }
}

TEST_F(FileSystemTest, LookupFilesExistForEveryNumber) {
  LogBuilder(dir_).offset(5).batch({"a"}).build();
  Mounted mounted(dir_);
  EXPECT_THAT(mounted.read("offsets/5.lookup"), HasSubstr("result: present\n"));
  EXPECT_THAT(mounted.read("offsets/0.lookup"), HasSubstr("result: below_log_start\n"));
  EXPECT_THAT(mounted.read("offsets/9.lookup"), HasSubstr("result: past_log_end\n"));
}

TEST_F(FileSystemTest, LinksAreReadAgainEachTime) {
  LogBuilder log(dir_);
  log.batch({"a"}).build();
  Mounted mounted(dir_);
  const auto ino = mounted.lookup("last")->ino;
  EXPECT_EQ(mounted.file_system.readlink(ino, root).value(), "offsets/0");
  log.batch({"b"}).build();
  EXPECT_EQ(mounted.file_system.readlink(ino, root).value(), "offsets/1");
  EXPECT_FALSE(mounted.file_system.readlink(mounted.lookup("offsets")->ino, root));
}

TEST_F(FileSystemTest, ALinkTellsOfALogToThoseWhoMayReadIt) {
  LogBuilder log(dir_);
  log.batch({"a"}).build();
  const uid_t owner = ::geteuid();
  ASSERT_EQ(::chmod(log.log_path().c_str(), 0640), 0);
  struct stat source {};
  ASSERT_EQ(::stat(log.log_path().c_str(), &source), 0);
  const User other{owner + 1, source.st_gid + 1, {}};
  const User in_group{owner + 1, source.st_gid + 1, {source.st_gid + 7, source.st_gid}};
  FileSystemOptions options;
  options.default_permissions = true;
  Mounted mounted(dir_, options);
  for (const char* name : {"first", "last", "last.json", "seek/0", "time/0"}) {
    const auto ino = mounted.lookup(name)->ino;
    const auto refused = mounted.file_system.readlink(ino, [&] { return other; });
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().sys_errno, EACCES);
    EXPECT_TRUE(mounted.file_system.readlink(ino, [&] { return in_group; })) << name;
    EXPECT_TRUE(mounted.file_system.readlink(ino, root)) << name;
  }
  EXPECT_TRUE(mounted.file_system.readlink(mounted.lookup("active")->ino, [&] { return other; }));
  for (const char* name : {"offsets", "seek", "time"}) {
    EXPECT_EQ(mounted.lookup(name)->attributes.stat.st_mode, S_IFDIR | 0550) << name;
  }
  // Where the kernel does not check modes, nobody but the one who mounted gets in.
  Mounted unchecked(dir_);
  EXPECT_TRUE(unchecked.file_system.readlink(unchecked.lookup("last")->ino, [&] { return other; }));
}

// Compaction that died before its last rename: what waits as .swap is the log.
TEST_F(FileSystemTest, ASegmentThatWaitsToBeRenamedHasItsOwnName) {
  LogBuilder(dir_).batch({"a"}).batch({"b"}).build();
  const std::string stem = dir_ + "/00000000000000000000";
  for (const char* extension : {".log", ".index", ".timeindex"})
    std::filesystem::rename(stem + extension, stem + extension + ".swap");
  ASSERT_EQ(::chmod((stem + ".log.swap").c_str(), 0600), 0);
  Mounted mounted(dir_);
  EXPECT_THAT(mounted.list("segments"), ElementsAre("00000000000000000000"));
  EXPECT_EQ(mounted.read("segments/00000000000000000000/records.values"), "a\nb\n");
  EXPECT_EQ(mounted.read("offsets/1"), "b");
  EXPECT_EQ(mounted.lookup("offsets/1")->attributes.stat.st_mode & 0777, 0400U);
  EXPECT_EQ(mounted.lookup("records.values")->attributes.stat.st_mode & 0777, 0400U);
  EXPECT_THAT(mounted.read("segments/00000000000000000000/info.json"),
              HasSubstr("00000000000000000000.log.swap"));
  EXPECT_THAT(mounted.log, testing::IsEmpty());
}

TEST_F(FileSystemTest, AnIndexThatIsALinkIsNone) {
  LogBuilder log(dir_);
  log.fill(200, 1, 100).build();
  for (const char* extension : {".index", ".timeindex"}) {
    const std::string index = log.path(extension);
    std::filesystem::rename(index, temp_ / extension);
    std::filesystem::create_symlink(temp_ / extension, index);
  }
  std::filesystem::create_symlink("/etc/passwd", dir_ + "/00000000000000000000.snapshot");
  Mounted mounted(dir_);
  const std::string segment = "segments/00000000000000000000/";
  EXPECT_EQ(mounted.read(segment + "index.tsv"), "offset\tposition\n");
  EXPECT_EQ(mounted.read(segment + "timeindex.tsv"), "timestamp\toffset\n");
  EXPECT_EQ(mounted.read(segment + "producers.jsonl"), "");
  EXPECT_TRUE(mounted.read("offsets/150").starts_with("record 150"));
  EXPECT_THAT(mounted.read("problems.jsonl"), HasSubstr(".snapshot"));
}

TEST_F(FileSystemTest, ANodeWhoseTargetIsGoneIsStaleSoThatItsNameIsLookedUpAgain) {
  LogBuilder(dir_).batch({"a"}).roll().batch({"b"}).build();
  Mounted mounted(dir_);
  const auto entry = mounted.lookup("segments/00000000000000000000/info.json");
  ASSERT_TRUE(entry);
  for (const auto& file : std::filesystem::directory_iterator(dir_)) {
    if (std::string(file.path().filename()).starts_with("00000000000000000000."))
      std::filesystem::remove(file.path());
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(2 * storage::PartitionLog::kRecheckMs));
  const auto attributes = mounted.file_system.getattr(entry->ino);
  ASSERT_FALSE(attributes);
  EXPECT_EQ(attributes.error().code, Errc::kOutOfRange);
}

TEST_F(FileSystemTest, AnOpenFileIsReadToItsEndWhateverIsDeletedMeanwhile) {
  LogBuilder(dir_).batch({"a", "b"}).roll().batch({"c"}).build();
  Mounted mounted(dir_);
  const std::string path = "segments/00000000000000000000/records.values";
  const auto ino = mounted.lookup(path)->ino;
  auto file = mounted.open(path);
  for (const auto& gone : std::filesystem::directory_iterator(dir_)) {
    if (std::string(gone.path().filename()).starts_with("00000000000000000000."))
      std::filesystem::remove(gone.path());
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(2 * storage::PartitionLog::kRecheckMs));
  for (const OpenFile* const asked_by :
       {static_cast<const OpenFile*>(nullptr), static_cast<const OpenFile*>(file.get())}) {
    const auto attributes = mounted.file_system.getattr(ino, asked_by);
    ASSERT_TRUE(attributes);
    EXPECT_EQ(attributes->stat.st_size, 4);
  }
  std::string buffer;
  EXPECT_EQ(file->read(0, 100, buffer).value(), "a\nb\n");
  file.reset();
  EXPECT_EQ(mounted.file_system.getattr(ino).error().code, Errc::kOutOfRange);
}

TEST_F(FileSystemTest, AnOpenStreamHasWhatWasAppendedUntilItsSegmentWasDeleted) {
  LogBuilder log(dir_);
  log.batch({"a", "b"}).build();
  Mounted mounted(dir_);
  const std::string path = "segments/00000000000000000000/records.values";
  const auto ino = mounted.lookup(path)->ino;
  auto file = mounted.open(path);
  std::string buffer;
  EXPECT_EQ(file->read(0, 100, buffer).value(), "a\nb\n");
  // All of it between two looks of a reader.
  log.batch({"c"}).roll().batch({"d"}).build();
  for (const auto& gone : std::filesystem::directory_iterator(dir_)) {
    if (std::string(gone.path().filename()).starts_with("00000000000000000000."))
      std::filesystem::remove(gone.path());
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(2 * storage::PartitionLog::kRecheckMs));
  const auto attributes = mounted.file_system.getattr(ino);
  ASSERT_TRUE(attributes);
  EXPECT_EQ(attributes->stat.st_size, 6);
  EXPECT_EQ(file->read(0, 100, buffer).value(), "a\nb\nc\n");
}

// The kernel asks for its attributes again before it reads: not known to be final, not kept.
TEST_F(FileSystemTest, ANewRecordThatWasOpenedIsReadThoughItIsDeletedMeanwhile) {
  LogBuilder(dir_).batch({"a", "b"}).roll().batch({"c"}).build();
  Mounted mounted(dir_);
  const auto entry = mounted.lookup("offsets/2");
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->attributes.timeout, kNever);
  const auto file = mounted.open("offsets/2");
  for (const auto& gone : std::filesystem::directory_iterator(dir_)) {
    if (std::string(gone.path().filename()).starts_with("00000000000000000002."))
      std::filesystem::remove(gone.path());
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(2 * storage::PartitionLog::kRecheckMs));
  EXPECT_EQ(mounted.file_system.getattr(entry->ino)->stat.st_size, 1);
  const auto attributes = mounted.file_system.getattr(entry->ino, file.get());
  ASSERT_TRUE(attributes);
  EXPECT_EQ(attributes->stat.st_size, 1);
  std::string buffer;
  EXPECT_EQ(file->read(0, 100, buffer).value(), "c");
}

TEST_F(FileSystemTest, DirectoriesListWhatTheyHoldAndNotTheirStreams) {
  LogBuilder(dir_).batch({"a", "b"}).roll().batch({"c"}).build();
  Mounted mounted(dir_);
  EXPECT_THAT(mounted.list(""), Contains("offsets"));
  EXPECT_THAT(mounted.list(""), Contains("first"));
  EXPECT_THAT(mounted.list(""), Not(Contains("records.jsonl")));
  EXPECT_THAT(mounted.list("offsets"), ElementsAre("0", "1", "2"));
  EXPECT_THAT(mounted.list("segments"),
              ElementsAre("00000000000000000000", "00000000000000000002"));
  EXPECT_THAT(mounted.list("time"),
              ElementsAre("2023-11-14T22:13:20.000Z", "2023-11-14T22:13:20.002Z"));
  EXPECT_THAT(mounted.list("seek"), IsEmpty());
  EXPECT_THAT(mounted.list("segments/00000000000000000000"), Contains("records.jsonl"));
  EXPECT_THAT(mounted.list("segments/00000000000000000000"), Not(Contains("records.values")));
}

TEST_F(FileSystemTest, EveryListedNameCanBeLookedUpAndHasTheListedNumber) {
  LogBuilder(dir_).batch({"a", "b"}).roll().batch({"c"}).build();
  Mounted mounted(dir_);
  for (const std::string dir : {"", "offsets", "segments", "time", "state"}) {
    const auto ino = mounted.lookup(dir)->ino;
    const auto listing = mounted.file_system.open_directory(ino).value();
    EXPECT_TRUE(listing->list(0, false, [&](const FileSystem::Name& name) {
      const auto entry = mounted.file_system.lookup(ino, name.name);
      EXPECT_TRUE(entry && entry->ino != 0) << dir << "/" << name.name;
      EXPECT_EQ(entry->attributes.stat.st_mode & S_IFMT, name.type) << name.name;
      // A node that needs a number of its own gets it when it is looked up.
      const bool is_numbered = name.ino != NodeTable::kUnknownId;
      EXPECT_TRUE(!is_numbered || entry->ino == name.ino) << name.name;
      return true;
    }));
  }
}

TEST_F(FileSystemTest, AListingWithAttributesTellsThoseOfRecords) {
  LogBuilder(dir_).batch({"a", "bc"}).build();
  Mounted mounted(dir_);
  const auto listing = mounted.file_system.open_directory(mounted.lookup("offsets")->ino).value();
  std::vector<off_t> sizes;
  EXPECT_TRUE(listing->list(0, true, [&](const FileSystem::Name& name) {
    EXPECT_EQ(name.entry->ino, name.ino);
    sizes.push_back(name.entry->attributes.stat.st_size);
    return true;
  }));
  EXPECT_THAT(sizes, ElementsAre(1, 2));
}

TEST_F(FileSystemTest, XattrsAreOfPlainRecordsAlone) {
  LogBuilder(dir_)
      .batch({std::move(keyed("k", "v")).with_header("h", "1").with_header("h", "2")})
      .build();
  Mounted mounted(dir_);
  const auto xattrs = mounted.file_system.xattrs(mounted.lookup("offsets/0")->ino).value();
  const auto value = [&](const std::string& name) {
    for (const Xattr& xattr : xattrs)
      if (xattr.name == "user.kafka." + name) return xattr.value;
    return std::string("(none)");
  };
  EXPECT_EQ(value("offset"), "0");
  EXPECT_EQ(value("key"), "k");
  EXPECT_EQ(value("timestamp"), std::to_string(LogBuilder::kFirstTime));
  EXPECT_EQ(value("timestamp_type"), "CreateTime");
  EXPECT_EQ(value("segment"), "00000000000000000000");
  EXPECT_EQ(value("codec"), "none");
  EXPECT_EQ(value("headers"), R"(["h","1","h","2"])");
  EXPECT_EQ(value("header.h"), "2");
  EXPECT_EQ(value("producer_id"), "(none)");
  EXPECT_THAT(mounted.file_system.xattrs(mounted.lookup("offsets/0.json")->ino).value(), IsEmpty());
  EXPECT_THAT(mounted.file_system.xattrs(mounted.lookup("offsets")->ino).value(), IsEmpty());
}

TEST_F(FileSystemTest, HeadersThatAreNoTextAreBase64AndSayIt) {
  LogBuilder(dir_)
      .batch({TestRecord("v").with_header("h", "\xff").with_header("", std::nullopt)})
      .build();
  Mounted mounted(dir_);
  const auto xattrs = mounted.file_system.xattrs(mounted.lookup("offsets/0")->ino).value();
  EXPECT_THAT(xattrs, Contains(Field(&Xattr::value, R"(["aA==","/w==","",null])")));
  EXPECT_THAT(xattrs, Contains(Field(&Xattr::name, "user.kafka.headers_encoding")));
  EXPECT_THAT(xattrs, Contains(Field(&Xattr::value, "\xff")));
}

TEST_F(FileSystemTest, ASlowOpenIsInterrupted) {
  LogBuilder(dir_).fill(100, 100, 100).build();
  Mounted mounted(dir_);
  const auto ino = mounted.lookup("state/records")->ino;
  ASSERT_TRUE(mounted.file_system.opens_slowly(ino));
  mounted.file_system.stop();
  std::promise<int> ended;
  mounted.file_system.open_slowly(
      ino, [&](auto file) { ended.set_value(file ? 0 : file.error().sys_errno); });
  EXPECT_EQ(ended.get_future().get(), EINTR);
}

TEST_F(FileSystemTest, SizesOfStreamsAreExactOnceTheyWereOpened) {
  LogBuilder(dir_).batch({"a", "bb"}).batch({"ccc"}).roll().batch({"d"}).build();
  Mounted mounted(dir_);
  for (const char* path :
       {"segments/00000000000000000000/records.jsonl", "segments/00000000000000000000/records.tsv",
        "segments/00000000000000000003/records.values",
        "segments/00000000000000000000/batches.jsonl", "segments/00000000000000000000/damage.jsonl",
        "segments/00000000000000000000/index.tsv", "state/records", "state/producers.tsv",
        "state/last_stable_offset", "offsets/0..2.jsonl", "records.values"}) {
    EXPECT_GE(mounted.lookup(path)->attributes.stat.st_size, 0) << path;
    auto file = mounted.open(path);
    const std::string text = mounted.read(path);
    EXPECT_EQ(mounted.lookup(path)->attributes.stat.st_size, static_cast<off_t>(text.size()))
        << path;
  }
}

TEST_F(FileSystemTest, ALogDirectoryShowsItsPartitionsByNameAndByTopic) {
  LogBuilder(temp_ / "data/orders-0").batch({"a"}).build();
  LogBuilder(temp_ / "data/orders-10").batch({"b"}).build();
  LogBuilder(temp_ / "data/a.b-c-2").batch({"c"}).build();
  Mounted mounted(temp_ / "data");
  EXPECT_EQ(mounted.read("orders-10/offsets/0"), "b");
  EXPECT_THAT(mounted.list("topics"), ElementsAre("a.b-c", "orders"));
  EXPECT_THAT(mounted.list("topics/orders"), ElementsAre("0", "10"));
  const auto link = mounted.lookup("topics/a.b-c/2");
  ASSERT_TRUE(link);
  EXPECT_EQ(mounted.file_system.readlink(link->ino, root).value(), "../../a.b-c-2");
  EXPECT_FALSE(mounted.lookup("topics/none"));
  EXPECT_FALSE(mounted.lookup("topics/orders/1"));
  EXPECT_FALSE(mounted.lookup("orders-1"));
}

TEST_F(FileSystemTest, APartitionMadeAnewIsAnotherNode) {
  LogBuilder(temp_ / "data/orders-0").batch({"old"}).build();
  LogBuilder(temp_ / "data/other-0").batch({"x"}).build();
  Mounted mounted(temp_ / "data");
  const auto before = mounted.lookup("orders-0/offsets/0");
  ASSERT_TRUE(before);
  std::filesystem::rename(temp_ / "data/orders-0", temp_ / "gone");
  LogBuilder(temp_ / "data/orders-0").batch({"new"}).build();
  std::this_thread::sleep_for(std::chrono::milliseconds(2 * storage::LogDir::kRecheckMs));
  const auto after = mounted.lookup("orders-0/offsets/0");
  ASSERT_TRUE(after);
  EXPECT_NE(after->ino, before->ino);
  EXPECT_EQ(mounted.read("orders-0/offsets/0"), "new");
}

TEST_F(FileSystemTest, TheSpaceIsKnownAfterAWhileAndAskingNeverWaits) {
  LogBuilder log(dir_);
  log.fill(10, 10, 100).build();
  Mounted mounted(dir_);
  for (int i = 0; i < 1000 && mounted.file_system.space().size_bytes < log.log_bytes(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_GE(mounted.file_system.space().size_bytes, log.log_bytes());
}

TEST_F(FileSystemTest, ForgottenNumbersLeaveNothingBehind) {
  LogBuilder(dir_).batch({"a"}).build();
  Mounted mounted(dir_);
  const auto entry = mounted.lookup("time/2023-11-14");
  ASSERT_TRUE(entry);
  EXPECT_TRUE(mounted.file_system.getattr(entry->ino));
  mounted.file_system.forget(entry->ino, 1);
  EXPECT_FALSE(mounted.file_system.getattr(entry->ino));
}

TEST_F(FileSystemTest, DamageIsEIOForItsRecordsAndOneProblem) {
  LogBuilder(dir_).batch({"a"}).batch({"b"}).flip_byte(-1).batch({"c"}).build();
  Mounted mounted(dir_);
  for (int i = 0; i < 3; ++i) {
    const auto entry = mounted.lookup("offsets/1");
    ASSERT_FALSE(entry);
    EXPECT_EQ(entry.error().code, Errc::kCorrupt);
  }
  const std::string problems = mounted.read("problems.jsonl");
  EXPECT_EQ(std::count(problems.begin(), problems.end(), '\n'), 1) << problems;
  EXPECT_EQ(mounted.read("offsets/2"), "c");
  EXPECT_THAT(mounted.read("segments/00000000000000000000/damage.jsonl"),
              HasSubstr("\"first_offset\":1,\"next_offset\":2"));
}

}  // namespace
}  // namespace offsetfs::fs
