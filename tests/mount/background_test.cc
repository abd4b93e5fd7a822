#include "mount/background.h"

#include <array>
#include <csignal>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/mount/child_process.h"

namespace offsetfs::mount {
namespace {

using tests::exit_code_of;

TEST(Background, WhoeverStartedItGetsZeroOnceItIsReady) {
  EXPECT_EQ(exit_code_of([] {
              auto background = Background::enter();
              background.ready();
              return 7;  // too late to matter
            }),
            0);
}

TEST(Background, WhoeverStartedItGetsTheCodeOfAFailure) {
  EXPECT_EQ(exit_code_of([] {
              const auto background = Background::enter();
              return 32;
            }),
            32);
}

TEST(Background, ADeathBeforeItIsReadyIsAFailure) {
  EXPECT_EQ(exit_code_of([] {
              const auto background = Background::enter();
              return ::raise(SIGKILL);
            }),
            128 + SIGKILL);
}

TEST(Background, ItLeavesTerminalDirectoryAndStandardStreams) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(exit_code_of([&] {
              auto background = Background::enter();
              background.ready();
              std::array<char, 100> directory{}, out{};
              const bool leads = ::getsid(0) == ::getpid();
              const bool asked = ::getcwd(directory.data(), directory.size()) != nullptr &&
                                 ::readlink("/proc/self/fd/2", out.data(), out.size()) > 0;
              const auto text = std::string(leads && asked ? "session " : "") + directory.data() +
                                " " + out.data();
              return ::write(ends[1], text.data(), text.size()) < 0 ? 1 : 0;
            }),
            0);
  ::close(ends[1]);
  std::array<char, 300> said{};
  ASSERT_GT(::read(ends[0], said.data(), said.size() - 1), 0);
  ::close(ends[0]);
  EXPECT_STREQ(said.data(), "session / /dev/null");
}

TEST(Background, InTheForegroundNothingChanges) {
  EXPECT_EQ(exit_code_of([] {
              const auto session = ::getsid(0);
              return Background().ready() && ::getsid(0) == session ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace offsetfs::mount
