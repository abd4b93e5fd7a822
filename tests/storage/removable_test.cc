#include "storage/removable.h"

#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/dir_lock.h"
#include "tests/support/log_builder.h"
#include "tests/support/temp_dir.h"

namespace offsetfs::storage {
namespace {

using Kind = Removable::Kind;
using testing::HasSubstr;
using testing::IsEmpty;

class RemovableTest : public testing::Test {
 protected:
  void SetUp() override { tests::LogBuilder(temp_ / "orders-0").fill(2, 3, 50).build(); }

  void write(const std::string& name, std::size_t bytes = 10) {
    const auto path = std::filesystem::path(temp_ / name);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << std::string(bytes, 'x');
  }
  std::vector<Removable> found() {
    auto dir = SourceDir::open(temp_ / "", make_io_backend(IoChoice::kPread, nullptr));
    EXPECT_TRUE(dir.has_value()) << dir.error().what;
    return find_removable({*dir});
  }

  tests::TempDir temp_;
};

TEST_F(RemovableTest, AHealthyDirectoryHasNothingToRemove) {
  write("recovery-point-offset-checkpoint");
  write("orders-0/00000000000000000006.snapshot");
  write("orders-0/notes.txt");
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(RemovableTest, EachKindIsNamedWithItsPathAndReason) {
  write("orders-0/00000000000000000099.log.deleted", 5000);
  write("orders-0/00000000000000000000.index.cleaned");
  write("orders-0/00000000000000000777.timeindex");
  write("orders-0/leader-epoch-checkpoint.tmp");
  write("gone-1.0123456789abcdef0123456789abcdef-delete/00000000000000000000.log", 9000);
  write("lost-1.0123456789abcdef0123456789abcdef-stray/00000000000000000000.log");
  const auto things = found();
  ASSERT_EQ(things.size(), 6U);
  const auto expect = [&](std::size_t i, Kind kind, const std::string& name, const char* reason) {
    EXPECT_STREQ(removable_kind_name(things[i].kind), removable_kind_name(kind));
    EXPECT_THAT(things[i].path, testing::EndsWith(name));
    EXPECT_THAT(things[i].reason, HasSubstr(reason));
    EXPECT_FALSE(things[i].broker_will);
  };
  expect(0, Kind::kDeleteDirectory, "-delete", "was deleted");
  expect(1, Kind::kStrayDirectory, "-stray", "may be the last copy");
  expect(2, Kind::kCleanedSegment, ".index.cleaned", "cut short");
  expect(3, Kind::kDeletedSegment, ".log.deleted", "may be removed now");
  expect(4, Kind::kOrphanedIndex, "777.timeindex", "without its .log");
  expect(5, Kind::kTemporary, ".tmp", "no broker reads");
  EXPECT_GE(things[0].bytes, 9000);
  EXPECT_GE(things[3].bytes, 5000);
}

// A process that holds `.lock` as a broker does, and an unlinked segment with it.
class StandInBroker {
 public:
  StandInBroker(const std::string& lock, const std::string& held) {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    child_ = ::fork();
    if (child_ == 0) {
      const int lock_fd = ::open(lock.c_str(), O_RDWR | O_CREAT, 0644);
      struct flock whole {};
      whole.l_type = F_WRLCK;
      const int held_fd = ::open(held.c_str(), O_RDWR | O_CREAT, 0644);
      const bool ok = ::fcntl(lock_fd, F_SETLK, &whole) == 0 && ::ftruncate(held_fd, 100) == 0 &&
                      ::write(held_fd, "x", 1) == 1 && ::unlink(held.c_str()) == 0;
      const char word = ok ? 'y' : 'n';
      (void)!::write(ready[1], &word, 1);
      ::pause();
      ::_exit(0);
    }
    char word = 0;
    EXPECT_EQ(::read(ready[0], &word, 1), 1);
    EXPECT_EQ(word, 'y');
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~StandInBroker() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  pid_t id() const { return child_; }

 private:
  pid_t child_ = -1;
};

TEST_F(RemovableTest, BesideARunningBrokerItIsTheBrokersToRemove) {
  write("orders-0/00000000000000000099.log.deleted");
  const StandInBroker broker(temp_ / ".lock", temp_ / "orders-0/00000000000000000050.log.deleted");
  const auto things = found();
  ASSERT_EQ(things.size(), 2U);
  EXPECT_EQ(things[0].kind, Kind::kHeldOpen);
  EXPECT_THAT(things[0].path, testing::EndsWith("orders-0/00000000000000000050.log.deleted"));
  EXPECT_THAT(things[0].reason, HasSubstr("process " + std::to_string(broker.id())));
  EXPECT_GT(things[0].bytes, 0);
  EXPECT_EQ(things[1].kind, Kind::kDeletedSegment);
  EXPECT_TRUE(things[1].broker_will);
  EXPECT_THAT(things[1].reason, HasSubstr("running broker"));
}

TEST_F(RemovableTest, WhatMarksAHalfFinishedSplitMustNotBeRemovedAlone) {
  write("orders-0/00000000000000000000.log.cleaned");
  write("orders-0/00000000000000000003.log.swap");
  const auto things = found();
  ASSERT_EQ(things.size(), 1U);
  EXPECT_THAT(things[0].reason, HasSubstr("never remove this one alone"));
}

TEST_F(RemovableTest, WithALockThatCantBeOpenedNothingIsCalledSafe) {
  write("orders-0/00000000000000000099.log.deleted");
  std::filesystem::create_symlink("elsewhere", std::filesystem::path(temp_ / ".lock"));
  const auto things = found();
  ASSERT_EQ(things.size(), 1U);
  EXPECT_FALSE(things[0].broker_will);
  EXPECT_THAT(things[0].reason, HasSubstr("can't be told"));
}

TEST_F(RemovableTest, TheHolderOfTheLockIsKnownAndAFreeLockHasNone) {
  auto dir = SourceDir::open(temp_ / "", make_io_backend(IoChoice::kPread, nullptr));
  ASSERT_TRUE(dir.has_value());
  using Holder = SourceDir::Lock::Holder;
  EXPECT_EQ((*dir)->lock_of(".lock").holder, Holder::kNobody);
  write(".lock", 0);
  EXPECT_EQ((*dir)->lock_of(".lock").holder, Holder::kNobody);
  const StandInBroker broker(temp_ / ".lock", temp_ / "held");
  EXPECT_EQ((*dir)->lock_of(".lock").holder, Holder::kProcess);
  EXPECT_EQ((*dir)->lock_of(".lock").process, broker.id());
}

TEST_F(RemovableTest, AMountThatWritesIsNoBroker) {
  write("orders-0/00000000000000000099.log.deleted");
  write("orders-0/00000000000000000098.log.cleaned");
  const auto lock = DirLock::acquire(temp_.path());
  ASSERT_TRUE(lock);
  const auto things = found();
  ASSERT_EQ(things.size(), 2U);
  for (const Removable& thing : things) {
    EXPECT_FALSE(thing.broker_will);
    EXPECT_THAT(thing.reason, HasSubstr("leave it alone"));
    EXPECT_THAT(thing.reason, testing::Not(HasSubstr("may be removed now")));
  }
  EXPECT_THAT(things[1].reason, HasSubstr("no broker works"));
}

}  // namespace
}  // namespace offsetfs::storage
