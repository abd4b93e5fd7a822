#include "mount/stop_signals.h"

#include <future>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/mount/child_process.h"

namespace offsetfs::mount {
namespace {

using tests::exit_code_of;

// The signal that `signals` reports first.
int reported_by(StopSignals& signals) {
  std::promise<int> reported;
  signals.watch([&](int signal) { reported.set_value(signal); });
  const int signal = reported.get_future().get();
  signals.unwatch();
  return signal;
}

TEST(StopSignals, EachOfThemIsReported) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    EXPECT_EQ(exit_code_of([&] {
                std::signal(signal, SIG_DFL);
                StopSignals signals;
                std::thread sender([&] { ::kill(::getpid(), signal); });
                const int reported = reported_by(signals);
                sender.join();
                return reported;
              }),
              signal);
}

TEST(StopSignals, OneThatCameBeforeAnybodyWatchedCounts) {
  EXPECT_EQ(exit_code_of([] {
              StopSignals signals;
              ::kill(::getpid(), SIGTERM);
              return reported_by(signals);
            }),
            SIGTERM);
}

TEST(StopSignals, WhatWasIgnoredAtTheStartStaysIgnored) {
  EXPECT_EQ(exit_code_of([] {
              std::signal(SIGINT, SIG_IGN);
              StopSignals signals;
              ::kill(::getpid(), SIGINT);
              ::kill(::getpid(), SIGTERM);
              return reported_by(signals);
            }),
            SIGTERM);
}

TEST(LetWritesFail, AClosedPipeAndAFileThatMayNotGrowEndNothing) {
  for (const int signal : {SIGPIPE, SIGXFSZ})
    EXPECT_EQ(exit_code_of([&] {
                std::signal(signal, SIG_DFL);
                let_writes_fail();
                ::kill(::getpid(), signal);
                return 0;
              }),
              0);
}

TEST(StopSignals, UnwatchingWithoutASignalReturns) {
  EXPECT_EQ(exit_code_of([] {
              StopSignals signals;
              signals.watch([](int) { ::_exit(1); });
              signals.unwatch();
              return 0;
            }),
            0);
}

}  // namespace
}  // namespace offsetfs::mount
