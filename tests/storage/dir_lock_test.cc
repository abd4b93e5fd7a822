#include "storage/dir_lock.h"

#include <csignal>
#include <filesystem>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/temp_dir.h"

namespace offsetfs::tests {
namespace {

using storage::DirLock;
using storage::Errc;

// Whether another process gets the lock as a JVM takes it.
bool another_process_gets(const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    const int fd = ::open(path.c_str(), O_RDWR);
    struct flock lock {};
    lock.l_type = F_WRLCK;
    ::_exit(::fcntl(fd, F_SETLK, &lock) == 0 ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0;
}

TEST(DirLockTest, ABrokerIsShutOutEvenAfterWeClosedAnotherDescriptorOfTheFile) {
  const TempDir temp;
  const auto lock = DirLock::acquire(temp.path());
  ASSERT_TRUE(lock);
  EXPECT_FALSE(another_process_gets(temp / ".lock"));
  ::close(::open((temp / ".lock").c_str(), O_RDWR));  // would drop a POSIX lock
  EXPECT_FALSE(another_process_gets(temp / ".lock"));
}

TEST(DirLockTest, ASecondWriterIsToldThatTheDirectoryIsHeld) {
  const TempDir temp;
  auto lock = DirLock::acquire(temp.path());
  ASSERT_TRUE(lock);
  const auto second = DirLock::acquire(temp.path());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::kBusy);
  EXPECT_NE(second.error().what.find("another offsetfs"), std::string::npos) << second.error().what;
  lock->release();
  EXPECT_FALSE(std::filesystem::exists(temp / ".lock"));
  EXPECT_TRUE(DirLock::acquire(temp.path()));
}

TEST(DirLockTest, ABrokersProcessIsNamed) {
  const TempDir temp;
  temp.write(".lock", "");
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const int fd = ::open((temp / ".lock").c_str(), O_RDWR);
    struct flock lock {};
    lock.l_type = F_WRLCK;
    const char said = ::fcntl(fd, F_SETLK, &lock) == 0 ? 'y' : 'n';
    (void)!::write(ready[1], &said, 1);
    ::pause();
  }
  char said = 0;
  ASSERT_EQ(::read(ready[0], &said, 1), 1);
  ASSERT_EQ(said, 'y');
  const auto lock = DirLock::acquire(temp.path());
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().code, Errc::kBusy);
  EXPECT_NE(lock.error().what.find("process " + std::to_string(child)), std::string::npos)
      << lock.error().what;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace offsetfs::tests
