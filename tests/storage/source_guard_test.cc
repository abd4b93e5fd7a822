#include "storage/source_guard.h"

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>

#include "tests/support/refused_syscall.h"

namespace offsetfs::storage {
namespace {

using std::chrono::milliseconds;

// Calls hang until it is opened.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    opened_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [&] { return is_open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool is_open_ = false;
};

class SourceGuardTest : public testing::Test {
 protected:
  std::unique_ptr<SourceGuard> guard(milliseconds timeout) {
    return std::make_unique<SourceGuard>("/logs",
                                         SourceGuard::Options{timeout, [this](const auto& line) {
                                                                const std::lock_guard lock(mutex_);
                                                                notices_.push_back(line);
                                                              }});
  }
  std::size_t notices() {
    const std::lock_guard lock(mutex_);
    return notices_.size();
  }

  std::mutex mutex_;
  std::vector<std::string> notices_;
  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
};

TEST_F(SourceGuardTest, ACallThatAnswersIsPassedOnWithItsErrors) {
  const auto guarding = guard(milliseconds(60'000));
  EXPECT_EQ(guarding->get<int>([]() -> Result<int> { return 7; }).value(), 7);
  EXPECT_EQ(guarding->get<int>([]() -> Result<int> { return fail(Errc::kNotFound, "gone"); })
                .error()
                .code,
            Errc::kNotFound);
  EXPECT_EQ(notices(), 0U);
}

TEST_F(SourceGuardTest, ACallThatHangsIsGivenUpAndThenAllAreUntilItComesBack) {
  const auto guarding = guard(milliseconds(50));
  const auto hanging = guarding->run([gate = gate_] { gate->pass(); });
  ASSERT_FALSE(hanging);
  EXPECT_EQ(hanging.error().sys_errno, ETIMEDOUT);
  EXPECT_TRUE(guarding->is_slow());
  std::atomic<bool> called = false;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(guarding->run([&] { called = true; }));
  EXPECT_FALSE(called);
  EXPECT_EQ(notices(), 1U);
  gate_->open();
  while (!guarding->run([] {})) std::this_thread::yield();
  EXPECT_FALSE(guarding->is_slow());
  while (notices() < 2) std::this_thread::yield();
}

TEST_F(SourceGuardTest, AllWhoWaitAreToldWhenTheFirstGivesUp) {
  const auto guarding = guard(milliseconds(100));
  std::vector<std::thread> threads;
  std::atomic<int> failed = 0;
  for (int i = 0; i < 2 * SourceGuard::kMostWaiting; ++i)
    threads.emplace_back(
        [&] { failed += guarding->run([gate = gate_] { gate->pass(); }) ? 0 : 1; });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failed, 2 * SourceGuard::kMostWaiting);
  EXPECT_EQ(notices(), 1U);
  gate_->open();
}

TEST_F(SourceGuardTest, ImpatienceIsNoReasonToCallTheSourceStalled) {
  const auto guarding = guard(milliseconds(60'000));
  EXPECT_FALSE(guarding->run([gate = gate_] { gate->pass(); }, milliseconds(10)));
  EXPECT_TRUE(guarding->run([] {}));
  EXPECT_EQ(notices(), 0U);
  gate_->open();
}

TEST_F(SourceGuardTest, WhatMakesCallsOfItsOwnIsWaitedForAsLongAndSaysNothingOfTheSource) {
  const std::shared_ptr<SourceGuard> guarding = guard(milliseconds(60'000));
  int answer = 0;
  EXPECT_TRUE(guarding->run_together([&] { EXPECT_TRUE(guarding->run([&] { answer = 7; })); },
                                     milliseconds(60'000)));
  EXPECT_EQ(answer, 7);
  const auto hangs = [guarding, gate = gate_] {
    EXPECT_TRUE(guarding->run([gate] { gate->pass(); }));
  };
  EXPECT_FALSE(guarding->run_together(hangs, milliseconds(10)));
  EXPECT_TRUE(guarding->run([] {}));
  EXPECT_EQ(notices(), 0U);
  gate_->open();
}

// Else a source would seem to answer again whenever somebody has given up.
TEST_F(SourceGuardTest, WhoseCallsWereGivenUpIsNoAnswer) {
  const std::shared_ptr<SourceGuard> guarding = guard(milliseconds(50));
  const auto over = std::make_shared<Gate>();
  guarding->run_together(
      [guarding, gate = gate_, over] {
        EXPECT_FALSE(guarding->run([gate] { gate->pass(); }));
        over->open();
      },
      milliseconds(60'000));
  over->pass();
  EXPECT_TRUE(guarding->is_slow());
  EXPECT_FALSE(guarding->run_together([] {}, milliseconds(60'000)));
  EXPECT_EQ(notices(), 1U);
  gate_->open();
}

TEST_F(SourceGuardTest, ASourceThatAnswersOthersIsNotSlowBecauseOneCallHangs) {
  const auto guarding = guard(milliseconds(60'000));
  EXPECT_FALSE(guarding->run([gate = gate_] { gate->pass(); }, milliseconds(10)));
  while (!guarding->is_slow()) std::this_thread::yield();
  bool was_quick = false;
  while (!was_quick) {  // a busy machine may take long between the two
    ASSERT_TRUE(guarding->run([] {}));
    was_quick = !guarding->is_slow();
  }
  while (!guarding->is_slow()) std::this_thread::yield();
  gate_->open();
}

// Without threads nothing can be asked; that is said, and takes no waiter's place for good.
TEST_F(SourceGuardTest, AThreadThatCannotBeMadeIsAnError) {
  EXPECT_TRUE(tests::holds_where_refused(SYS_clone3, ENOSYS, [this] {
    return tests::holds_where_refused(SYS_clone, EAGAIN, [this] {
      const auto guarding = guard(milliseconds(60'000));
      bool holds = true;
      for (int i = 0; i < 2 * SourceGuard::kMostWaiting; ++i) {
        const auto ran = guarding->run([] {});
        holds = holds && !ran && ran.error().sys_errno == EAGAIN;
      }
      return holds;
    });
  }));
}

// A signal goes to any thread that takes it, and ends the process where nobody waits for it.
TEST_F(SourceGuardTest, TheThreadThatCallsTakesNoSignals) {
  const auto guarding = guard(milliseconds(10'000));
  const auto takes = guarding->get<bool>([]() -> Result<bool> {
    sigset_t blocked{};
    ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    return ::sigismember(&blocked, SIGTERM) == 0 || ::sigismember(&blocked, SIGINT) == 0;
  });
  EXPECT_FALSE(takes.value());
  sigset_t ours{};
  ::pthread_sigmask(SIG_SETMASK, nullptr, &ours);
  EXPECT_EQ(::sigismember(&ours, SIGTERM), 0);
}

TEST_F(SourceGuardTest, WhatHangsMayOutliveTheGuard) {
  auto used = std::make_shared<int>(1);
  const std::weak_ptr<int> alive = used;
  {
    const auto guarding = guard(milliseconds(10));
    EXPECT_FALSE(guarding->run([gate = gate_, used] { gate->pass(); }));
    used.reset();
  }
  EXPECT_FALSE(alive.expired());
  gate_->open();
  while (!alive.expired()) std::this_thread::yield();
}

}  // namespace
}  // namespace offsetfs::storage
