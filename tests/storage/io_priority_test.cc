#include "storage/io_priority.h"

#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/ioprio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/dir.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_backend.h"

namespace offsetfs::storage {
namespace {

int class_now() {
  return static_cast<int>(IOPRIO_PRIO_CLASS(::syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0)));
}

TEST(IoPriority, AThreadIsIdleAsLongAsItSaysSo) {
  const int before = class_now();
  EXPECT_NE(before, IOPRIO_CLASS_IDLE);
  {
    const IdleIo idle(true);
    EXPECT_EQ(class_now(), IOPRIO_CLASS_IDLE);
    EXPECT_EQ(IOPRIO_PRIO_CLASS(io_priority()), IOPRIO_CLASS_IDLE);
    {
      const IdleIo again(true);
      const IdleIo no(false);
    }
    EXPECT_EQ(class_now(), IOPRIO_CLASS_IDLE);
  }
  EXPECT_NE(class_now(), IOPRIO_CLASS_IDLE);
  EXPECT_EQ(io_priority(), 0);
}

TEST(IoPriority, AThreadThatIsNotToBeIdleIsNot) {
  const IdleIo no(false);
  EXPECT_NE(class_now(), IOPRIO_CLASS_IDLE);
}

TEST(IoPriority, AThreadHasItsOwnPriorityBack) {
  static constexpr int kLow = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 7);
  std::thread([] {
    ASSERT_EQ(::syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, kLow), 0);
    {
      const IdleIo idle(true);
      EXPECT_EQ(class_now(), IOPRIO_CLASS_IDLE);
    }
    EXPECT_EQ(::syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0), kLow);
  }).join();
}

// A process that locks the file as a broker does, until it is killed.
class Broker {
 public:
  explicit Broker(const std::string& path) {
    int ready[2];
    if (::pipe(ready) != 0) std::abort();
    child_ = ::fork();
    if (child_ == 0) {
      const int fd = ::open(path.c_str(), O_RDWR);
      struct flock lock {};
      lock.l_type = F_WRLCK;
      lock.l_whence = SEEK_SET;
      const bool got_it = ::fcntl(fd, F_SETLK, &lock) == 0;
      if (::write(ready[1], got_it ? "y" : "n", 1) != 1) ::_exit(1);
      ::pause();
      ::_exit(0);
    }
    char answer = 0;
    locked = ::read(ready[0], &answer, 1) == 1 && answer == 'y';
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~Broker() { end(); }
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;
  void end() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = 0;
  }
  bool locked = false;

 private:
  pid_t child_ = 0;
};

TEST(IoPriority, ALockIsSeenAndNotTaken) {
  const tests::TempDir temp;
  temp.write(".lock", "");
  using Holder = SourceDir::Lock::Holder;
  const auto dir = SourceDir::open(temp.path(), tests::test_backend()).value();
  EXPECT_EQ(dir->lock_of(".lock").holder, Holder::kNobody);
  EXPECT_EQ(dir->lock_of("absent").holder, Holder::kNobody);
  Broker broker(temp / ".lock");
  ASSERT_TRUE(broker.locked);
  EXPECT_EQ(dir->lock_of(".lock").holder, Holder::kProcess);
  EXPECT_EQ(dir->lock_of(".lock").holder, Holder::kProcess);
  broker.end();
  EXPECT_EQ(dir->lock_of(".lock").holder, Holder::kNobody);
  Broker next(temp / ".lock");
  EXPECT_TRUE(next.locked);
}

}  // namespace
}  // namespace offsetfs::storage
