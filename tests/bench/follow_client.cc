// Readers of follow/ files, and a writer beside them. Prints one line of JSON.
//
//   follow_client delay log=FILE next=OFFSET (file=FOLLOWED | command=COMMAND)
//                 [samples=N] [gap_us=T] [readers=N]
//       Appends a batch of one record to the `.log` FILE, again and again, and times each from
//       right before its write(2) until a reader has the line: of FOLLOWED (.values), blocked in
//       read(2), or of what COMMAND prints. With more readers: until the last of them has it.
//   follow_client catch_up file=FOLLOWED bytes=N [readers=N]
//       Reads N bytes, by as many readers at once.
//   follow_client park file=TEMPLATE count=N
//       Blocks in read(2) of N files (%llu is replaced by 0 to N - 1), says so, and stays until its
//       standard input ends.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "storage/batch_builder.h"

namespace offsetfs {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "follow_client: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

std::map<std::string, std::string> arguments;

std::string text(const std::string& name, const std::string& fallback = {}) {
  const auto found = arguments.find(name);
  return found == arguments.end() ? fallback : found->second;
}
std::int64_t number(const std::string& name, std::int64_t fallback = 0) {
  const auto found = arguments.find(name);
  return found == arguments.end() ? fallback : std::stoll(found->second);
}

int open_to_read(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) give_up(path);
  return file;
}

// --- delay ---------------------------------------------------------------------------------------

// Counts the lines that came, with the time the newest came at.
struct Reader {
  int file = -1;
  std::atomic<std::int64_t> lines = 0;
  std::atomic<Clock::time_point> at{};

  void run() {
    char buffer[4096];
    for (;;) {
      const ssize_t bytes = ::read(file, buffer, sizeof buffer);
      if (bytes <= 0) return;
      at = Clock::now();
      lines += std::count(buffer, buffer + bytes, '\n');
    }
  }
};

std::string batch_at(std::int64_t offset) {
  storage::BatchBuilder::Options options;
  options.base_offset = {offset};
  storage::BatchBuilder builder(options);
  const std::string value = "a line of some length, as lines are: " + std::to_string(offset);
  builder.add({1'700'000'000'000 + offset}, std::nullopt, value);
  return builder.build();
}

int delay() {
  const int log = ::open(text("log").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (log < 0) give_up(text("log"));
  const bool of_command = !text("command").empty();
  std::vector<Reader> readers(static_cast<std::size_t>(number("readers", 1)));
  std::FILE* command = nullptr;
  for (Reader& reader : readers) {
    if (of_command && (command = ::popen(text("command").c_str(), "r")) == nullptr)
      give_up(text("command"));
    reader.file = of_command ? ::fileno(command) : open_to_read(text("file"));
    std::thread([&reader] { reader.run(); }).detach();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(of_command ? 1500 : 300));
  const std::int64_t samples = number("samples", 1000);
  const std::int64_t next = number("next");
  std::vector<double> delays;
  for (std::int64_t i = 0; i < samples; ++i) {
    // Not in step with whoever looks at intervals.
    const std::int64_t gap_us = number("gap_us", 2000);
    std::this_thread::sleep_for(std::chrono::microseconds(gap_us + i * 7919 % 997 * gap_us / 997));
    const std::string batch = batch_at(next + i);
    const auto begin = Clock::now();
    if (::write(log, batch.data(), batch.size()) != static_cast<ssize_t>(batch.size()))
      give_up(text("log"));
    Clock::time_point last{};
    for (Reader& reader : readers) {
      while (reader.lines <= i) std::this_thread::sleep_for(std::chrono::microseconds(20));
      last = std::max(last, reader.at.load());
    }
    delays.push_back(std::chrono::duration<double, std::micro>(last - begin).count());
  }
  std::sort(delays.begin(), delays.end());
  const auto part = [&](double share) {
    return delays[static_cast<std::size_t>(share * static_cast<double>(delays.size() - 1))];
  };
  std::printf("{\"p50_us\": %.1f, \"p99_us\": %.1f, \"max_us\": %.1f}\n", part(0.5), part(0.99),
              delays.back());
  std::fflush(stdout);
  std::_Exit(0);  // the readers are blocked
}

// --- catch_up ------------------------------------------------------------------------------------

int catch_up() {
  const std::int64_t wanted = number("bytes");
  const auto readers = static_cast<std::size_t>(number("readers", 1));
  const auto begin = Clock::now();
  std::vector<std::thread> threads;
  std::atomic<bool> short_of_it = false;
  for (std::size_t i = 0; i < readers; ++i) {
    threads.emplace_back([&] {
      const int file = open_to_read(text("file"));
      std::vector<char> buffer(128 << 10);
      std::int64_t left = wanted;
      while (left > 0) {
        const ssize_t bytes = ::read(file, buffer.data(), buffer.size());
        if (bytes <= 0) break;
        left -= bytes;
      }
      if (left != 0) short_of_it = true;
      ::close(file);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (short_of_it) give_up("not as many bytes as were wanted");
  std::printf("{\"seconds\": %.3f, \"gb_per_s\": %.3f}\n", seconds,
              static_cast<double>(wanted) * static_cast<double>(readers) / seconds / 1e9);
  return 0;
}

// --- park ----------------------------------------------------------------------------------------

void* block(void* file) {
  char byte = 0;
  const ssize_t ignored = ::read(static_cast<int>(reinterpret_cast<std::intptr_t>(file)), &byte, 1);
  return reinterpret_cast<void*>(ignored);
}

int park() {
  const std::string path = text("file");
  const auto number_at = path.find("%llu");
  pthread_attr_t small;
  ::pthread_attr_init(&small);
  ::pthread_attr_setstacksize(&small, 64 << 10);
  for (std::int64_t i = 0; i < number("count"); ++i) {
    std::string one = path;
    if (number_at != std::string::npos) one.replace(number_at, 4, std::to_string(i));
    const std::intptr_t file = open_to_read(one);
    pthread_t thread{};
    if (::pthread_create(&thread, &small, block, reinterpret_cast<void*>(file)) != 0)
      give_up("a thread");
  }
  std::printf("parked\n");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  std::_Exit(0);
}

}  // namespace
}  // namespace offsetfs

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  for (int i = 2; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto equals = std::min(argument.find('='), argument.size() - 1);
    offsetfs::arguments[argument.substr(0, equals)] = argument.substr(equals + 1);
  }
  if (what == "delay") return offsetfs::delay();
  if (what == "catch_up") return offsetfs::catch_up();
  if (what == "park") return offsetfs::park();
  std::fprintf(stderr, "follow_client: delay, catch_up or park\n");
  return 2;
}
