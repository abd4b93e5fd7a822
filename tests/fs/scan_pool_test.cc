#include "fs/scan_pool.h"

#include <atomic>
#include <mutex>
#include <string>

#include <gtest/gtest.h>

namespace offsetfs::fs {
namespace {

// Notes its name for each part it does.
class NotedJob : public ScanPool::Job {
 public:
  NotedJob(char name, int parts, std::mutex& mutex, std::string& notes)
      : name_(name), parts_(parts), mutex_(mutex), notes_(notes) {}
  bool work() override {
    const std::lock_guard lock(mutex_);
    if (parts_ > 0) notes_ += name_;
    if (--parts_ <= 0) {
      done = true;
      done.notify_all();
    }
    return parts_ > 0;
  }
  void cancel() override { cancelled = true; }

  std::atomic<bool> done = false;
  std::atomic<bool> cancelled = false;

 private:
  const char name_;
  int parts_;
  std::mutex& mutex_;
  std::string& notes_;
};

TEST(ScanPoolTest, ShortJobBehindLongOnesTakesItsTurnByTheParts) {
  std::mutex mutex;
  std::string notes;
  ScanPool pool(1);
  const auto a = std::make_shared<NotedJob>('a', 1000, mutex, notes);
  const auto b = std::make_shared<NotedJob>('b', 1000, mutex, notes);
  const auto c = std::make_shared<NotedJob>('c', 2, mutex, notes);
  {
    const std::lock_guard lock(mutex);  // none begins before all are there
    pool.add(a);
    pool.add(b);
    pool.add(c);
  }
  c->done.wait(false);
  a->done.wait(false);
  b->done.wait(false);
  EXPECT_LE(notes.rfind('c'), 7U) << notes.substr(0, 20);
  EXPECT_EQ(notes.size(), 2002U);
}

TEST(ScanPoolTest, WhatComesAfterTheStopIsCancelledAtOnce) {
  std::mutex mutex;
  std::string notes;
  ScanPool pool(2);
  pool.stop();
  const auto job = std::make_shared<NotedJob>('a', 5, mutex, notes);
  pool.add(job);
  EXPECT_TRUE(job->cancelled);
  EXPECT_EQ(notes, "");
}

}  // namespace
}  // namespace offsetfs::fs
