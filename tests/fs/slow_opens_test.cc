#include "fs/slow_opens.h"

#include <atomic>
#include <cerrno>
#include <future>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace offsetfs::fs {
namespace {

class EmptyFile : public OpenFile {
 public:
  storage::Result<storage::Bytes> read(std::uint64_t, std::size_t, std::string&) const override {
    return storage::Bytes{};
  }
};

SlowOpens::Result opened() { return std::make_unique<EmptyFile>(); }

// What one waiter was told: the errno, 0 for a file. Telling it twice breaks the promise.
struct Waiter {
  std::promise<int> told;
  SlowOpens::Done done() {
    return
        [this](SlowOpens::Result result) { told.set_value(result ? 0 : result.error().sys_errno); };
  }
  int wait() { return told.get_future().get(); }
};

// A work that waits until it is let go or stopped.
class Gate {
 public:
  SlowOpens::Work work() {
    return [this](std::stop_token stop) -> SlowOpens::Result {
      ++begun_;
      begun_.notify_all();
      const std::stop_callback wake(stop, [this] { open(); });
      open_.wait(false);
      ++ended_;
      if (stop.stop_requested()) return storage::fail_errno(EINTR, "stopped");
      return opened();
    };
  }
  void open() {
    open_ = true;
    open_.notify_all();
  }
  void wait_until_begun() { begun_.wait(0); }
  int begun() const { return begun_; }
  int ended() const { return ended_; }

 private:
  std::atomic<bool> open_ = false;
  std::atomic<int> begun_ = 0;
  std::atomic<int> ended_ = 0;
};

TEST(SlowOpensTest, TheFileComesFromAnotherThread) {
  SlowOpens opens;
  Waiter waiter;
  opens.submit(
      1, [](std::stop_token) { return opened(); }, waiter.done());
  EXPECT_EQ(waiter.wait(), 0);
}

TEST(SlowOpensTest, WhoWaitsForOneFileDoesNotWaitForAnother) {
  SlowOpens opens;
  Gate gate;
  Waiter slow;
  Waiter quick;
  opens.submit(1, gate.work(), slow.done());
  opens.submit(
      2, [](std::stop_token) { return opened(); }, quick.done());
  EXPECT_EQ(quick.wait(), 0);
  gate.open();
  EXPECT_EQ(slow.wait(), 0);
}

TEST(SlowOpensTest, EachWhoWaitsForOneFileGetsAFileOfTheirOwn) {
  SlowOpens opens;
  Gate gate;
  Waiter first;
  Waiter second;
  opens.submit(1, gate.work(), first.done());
  gate.wait_until_begun();
  opens.submit(1, gate.work(), second.done());
  EXPECT_EQ(gate.begun(), 1) << "two scans of one file at once";
  gate.open();
  EXPECT_EQ(first.wait(), 0);
  EXPECT_EQ(second.wait(), 0);
}

TEST(SlowOpensTest, AFailureIsToldToAllWhoWait) {
  SlowOpens opens;
  Gate gate;
  Waiter first;
  Waiter second;
  std::atomic<bool> second_waits = false;
  opens.submit(
      1,
      [&](std::stop_token) -> SlowOpens::Result {
        second_waits.wait(false);
        return storage::fail_errno(EACCES, "no");
      },
      first.done());
  opens.submit(1, gate.work(), second.done());
  second_waits = true;
  second_waits.notify_all();
  EXPECT_EQ(first.wait(), EACCES);
  EXPECT_EQ(second.wait(), EACCES);
  EXPECT_EQ(gate.begun(), 0);
}

TEST(SlowOpensTest, AnInterruptAnswersAtOnceAndStopsTheScanThatNobodyWaitsFor) {
  SlowOpens opens;
  Gate gate;
  Waiter waiter;
  const auto ticket = opens.submit(1, gate.work(), waiter.done());
  gate.wait_until_begun();
  opens.cancel(ticket);
  EXPECT_EQ(waiter.wait(), EINTR);
  opens.stop();
  EXPECT_EQ(gate.ended(), 1);
}

TEST(SlowOpensTest, AnInterruptOfOneLeavesTheScanToTheOther) {
  SlowOpens opens;
  Gate gate;
  Waiter first;
  Waiter second;
  const auto ticket = opens.submit(1, gate.work(), first.done());
  gate.wait_until_begun();
  opens.submit(1, gate.work(), second.done());
  opens.cancel(ticket);
  EXPECT_EQ(first.wait(), EINTR);
  gate.open();
  EXPECT_EQ(second.wait(), 0);
  EXPECT_EQ(gate.begun(), 1) << "the scan under way was thrown away";
}

TEST(SlowOpensTest, WhoComesAfterAnInterruptDoesNotGetItsError) {
  SlowOpens opens;
  Gate gate;
  Waiter first;
  Waiter second;
  const auto ticket = opens.submit(1, gate.work(), first.done());
  gate.wait_until_begun();
  opens.cancel(ticket);
  opens.submit(
      1, [](std::stop_token) { return opened(); }, second.done());
  EXPECT_EQ(first.wait(), EINTR);
  EXPECT_EQ(second.wait(), 0);
}

TEST(SlowOpensTest, AnInterruptAfterTheAnswerIsNothing) {
  SlowOpens opens;
  Waiter waiter;
  const auto ticket = opens.submit(
      1, [](std::stop_token) { return opened(); }, waiter.done());
  EXPECT_EQ(waiter.wait(), 0);
  opens.cancel(ticket);
}

TEST(SlowOpensTest, MoreFilesThanThreadsWaitForTheirTurn) {
  SlowOpens opens;
  Gate gate;
  std::vector<Waiter> waiters(3 * SlowOpens::kMostThreads);
  for (std::size_t i = 0; i < waiters.size(); ++i) opens.submit(i, gate.work(), waiters[i].done());
  EXPECT_LE(gate.begun(), static_cast<int>(SlowOpens::kMostThreads));
  gate.open();
  for (Waiter& waiter : waiters) EXPECT_EQ(waiter.wait(), 0);
}

TEST(SlowOpensTest, StopAnswersAllAndRefusesWhatComesLater) {
  SlowOpens opens;
  constexpr std::size_t kFiles = 2 * SlowOpens::kMostThreads;
  std::vector<Gate> gates(kFiles);
  std::vector<Waiter> waiters(kFiles);
  for (std::size_t i = 0; i < kFiles; ++i) opens.submit(i, gates[i].work(), waiters[i].done());
  opens.stop();
  for (Waiter& waiter : waiters) EXPECT_EQ(waiter.wait(), EINTR);
  for (const Gate& gate : gates) EXPECT_EQ(gate.begun(), gate.ended());
  Waiter late;
  opens.submit(
      1, [](std::stop_token) { return opened(); }, late.done());
  EXPECT_EQ(late.wait(), EINTR);
}

}  // namespace
}  // namespace offsetfs::fs
