#include "fs/wake_pool.h"

#include <atomic>
#include <latch>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace offsetfs::fs {
namespace {

using testing::ElementsAre;

TEST(WakePool, TasksAreBegunInTheOrderTheyCame) {
  WakePool pool(1);
  std::mutex mutex;
  std::vector<int> done;
  const auto note = [&](int n) {
    return [&, n] {
      const std::lock_guard lock(mutex);
      done.push_back(n);
    };
  };
  pool.add(note(1));
  pool.add({note(2), note(3)});
  pool.add(note(4));
  pool.stop();
  EXPECT_THAT(done, ElementsAre(1, 2, 3, 4));
}

TEST(WakePool, TasksGoSideBySide) {
  WakePool pool(2);
  std::latch both(2);
  pool.add({[&] { both.arrive_and_wait(); }, [&] { both.arrive_and_wait(); }});
  pool.stop();
}

TEST(WakePool, ATaskMayAddAnother) {
  WakePool pool(1);
  std::latch done(1);
  pool.add([&] { pool.add([&] { done.count_down(); }); });
  done.wait();
}

TEST(WakePool, WhatComesAfterTheEndIsDoneByWhoBringsIt) {
  WakePool pool(2);
  pool.add([] {});
  pool.stop();
  std::thread::id by;
  pool.add([&] { by = std::this_thread::get_id(); });
  EXPECT_EQ(by, std::this_thread::get_id());
  pool.stop();
}

TEST(WakePool, WhatATaskHoldsIsGivenUpOnceItIsDone) {
  WakePool pool(1);
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = held;
  pool.add([held = std::move(held)] {});
  while (!watched.expired()) std::this_thread::yield();
}

TEST(WakePool, StuckTasksDoNotHoldUpOthersForEver) {
  WakePool pool(2);
  std::latch stuck(2);
  std::latch freed(1);
  const auto wait = [&] {
    stuck.count_down();
    freed.wait();
  };
  pool.add({wait, wait});
  stuck.wait();
  std::latch done(1);
  std::atomic<bool> is_done = false;
  // Who notices that all are stuck is the task that comes a while later.
  pool.add([&] {
    is_done = true;
    done.count_down();
  });
  while (!is_done) {
    std::this_thread::sleep_for(WakePool::kStuckAfter);
    pool.add([] {});
  }
  done.wait();
  freed.count_down();
}

}  // namespace
}  // namespace offsetfs::fs
