// Times operations below a mount point on names that never repeat, so that no cache of the kernel
// answers, and prints one line of JSON.
//
//   bench_client MOUNTPOINT op=OP [path=TEMPLATE] [from=A] [to=B] [threads=T] [seconds=S] [seed=K]
//                [entries=N] [operations=N]
//     op       orc (open, read, close) | stat | readlink | list (getdents of the directory
//     TEMPLATE)
//              | stream (read the file TEMPLATE to its end) | end (open it, pread its last 64 KiB)
//     path     relative to MOUNTPOINT; %llu is replaced by the number
//     from,to  numbers are drawn from [A, B), each at most once: a permutation walked from a point
//              that `seed` sets, the clock by default
//     entries, operations   stop after so many
//
// us_per_op is a thread's own time for one operation: wall time times threads, by operations.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace offsetfs {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "bench_client: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class Arguments {
 public:
  Arguments(int argc, char** argv) {
    for (int i = 2; i < argc; ++i) {
      const std::string argument = argv[i];
      const auto equals = argument.find('=');
      values_[argument.substr(0, equals)] = argument.substr(equals + 1);
    }
  }
  std::string text(const std::string& name, const std::string& fallback) const {
    const auto found = values_.find(name);
    return found == values_.end() ? fallback : found->second;
  }
  std::uint64_t number(const std::string& name, std::uint64_t fallback) const {
    const auto found = values_.find(name);
    return found == values_.end() ? fallback : std::stoull(found->second);
  }

 private:
  std::map<std::string, std::string> values_;
};

// i -> (i * step + start) mod n, with a step prime to n: each number once.
class Permutation {
 public:
  Permutation(std::uint64_t n, std::uint64_t seed)
      : n_(n),
        step_(static_cast<std::uint64_t>(0.6180339887 * static_cast<double>(n)) | 1),
        start_(seed % n) {
    while (std::gcd(step_, n_) != 1) step_ += 2;
  }
  std::uint64_t operator()(std::uint64_t i) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(i % n_) * step_ + start_) % n_);
  }

 private:
  std::uint64_t n_, step_, start_;
};

int list(int root, const Arguments& arguments) {
  const std::string path = arguments.text("path", "offsets");
  const std::uint64_t limit = arguments.number("entries", UINT64_MAX);
  const auto begin = Clock::now();
  const int fd = ::openat(root, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) give_up(path);
  double first = 0;
  std::uint64_t entries = 0;
  std::vector<char> buffer(32768);  // what glibc's readdir() uses
  while (entries < limit) {
    const long got = ::syscall(SYS_getdents64, fd, buffer.data(), buffer.size());
    if (got < 0) give_up(path);
    if (got == 0) break;
    if (entries == 0) first = seconds_since(begin);
    for (long at = 0; at < got; ++entries) {
      unsigned short length = 0;
      std::memcpy(&length, &buffer[static_cast<std::size_t>(at) + 16], sizeof length);
      at += length;
    }
  }
  const double elapsed = seconds_since(begin);
  std::printf("{\"entries\":%llu,\"seconds\":%.6f,\"first_us\":%.1f,\"us_per_op\":%.6f}\n",
              static_cast<unsigned long long>(entries), elapsed, first * 1e6,
              elapsed * 1e6 / static_cast<double>(entries));
  return 0;
}

int stream(int root, const Arguments& arguments) {
  const std::string path = arguments.text("path", "stream");
  std::vector<char> buffer(arguments.number("block", 131072));
  const auto begin = Clock::now();
  const int fd = ::openat(root, path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) give_up(path);
  const double opened = seconds_since(begin);
  double first = 0;
  std::uint64_t bytes = 0;
  for (;;) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0) give_up(path);
    if (got == 0) break;
    if (bytes == 0) first = seconds_since(begin);
    bytes += static_cast<std::uint64_t>(got);
    if (bytes >= arguments.number("bytes", UINT64_MAX)) break;
  }
  const double elapsed = seconds_since(begin);
  std::printf(
      "{\"bytes\":%llu,\"seconds\":%.6f,\"open_us\":%.1f,\"first_us\":%.1f,\"gb_per_s\":%.4f}\n",
      static_cast<unsigned long long>(bytes), elapsed, opened * 1e6, first * 1e6,
      static_cast<double>(bytes) / elapsed / 1e9);
  return 0;
}

int read_end(int root, const Arguments& arguments) {
  const std::string path = arguments.text("path", "stream");
  std::vector<char> buffer(65536);
  const auto begin = Clock::now();
  const int fd = ::openat(root, path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat st {};
  if (fd < 0 || ::fstat(fd, &st) != 0) give_up(path);
  const double opened = seconds_since(begin);
  const off_t from = std::max<off_t>(0, st.st_size - static_cast<off_t>(buffer.size()));
  const ssize_t got = ::pread(fd, buffer.data(), buffer.size(), from);
  if (got < 0) give_up(path);
  std::printf("{\"bytes\":%zd,\"seconds\":%.6f,\"open_us\":%.1f}\n", got, seconds_since(begin),
              opened * 1e6);
  return 0;
}

struct Lookups {
  int root = -1;
  std::string op, before, after;
  std::uint64_t from = 0, to = 0, operations = 0;
  std::atomic<std::uint64_t> next{0}, failed{0}, bytes{0};
  std::atomic<int> ready{0};
  std::atomic<bool> go{false}, stop{false};
};

bool look_up(const Lookups& lookups, const std::string& name, std::vector<char>& buffer,
             std::uint64_t& bytes) {
  struct stat st {};
  if (lookups.op == "stat")
    return ::fstatat(lookups.root, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0;
  if (lookups.op == "readlink")
    return ::readlinkat(lookups.root, name.c_str(), buffer.data(), buffer.size()) > 0;
  const int fd = ::openat(lookups.root, name.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t got = ::read(fd, buffer.data(), buffer.size());
  ::close(fd);
  if (got > 0) bytes += static_cast<std::uint64_t>(got);
  return got >= 0;
}

void work(Lookups& lookups, const Permutation& pick, std::vector<std::uint32_t>& latencies_ns) {
  constexpr std::uint64_t kHandedOut = 64;  // names, at a time
  std::vector<char> buffer(65536);
  std::uint64_t bytes = 0;
  std::uint64_t failed = 0;
  std::string name;
  latencies_ns.reserve(1U << 20);
  ++lookups.ready;
  while (!lookups.go) std::this_thread::yield();
  auto last = Clock::now();
  while (!lookups.stop.load(std::memory_order_relaxed)) {
    const std::uint64_t first = lookups.next.fetch_add(kHandedOut, std::memory_order_relaxed);
    if (first >= lookups.operations) break;
    for (std::uint64_t i = first;
         i < first + kHandedOut && !lookups.stop.load(std::memory_order_relaxed); ++i) {
      name.assign(lookups.before)
          .append(std::to_string(lookups.from + pick(i)))
          .append(lookups.after);
      if (!look_up(lookups, name, buffer, bytes)) ++failed;
      const auto now = Clock::now();
      latencies_ns.push_back(static_cast<std::uint32_t>(
          std::chrono::duration_cast<std::chrono::nanoseconds>(now - last).count()));
      last = now;
    }
  }
  lookups.failed += failed;
  lookups.bytes += bytes;
}

int time_lookups(int root, const Arguments& arguments) {
  Lookups lookups;
  lookups.root = root;
  lookups.op = arguments.text("op", "orc");
  const std::string path = arguments.text("path", "offsets/%llu");
  const auto hole = path.find("%llu");
  if (hole == std::string::npos) give_up("path has no %llu");
  lookups.before = path.substr(0, hole);
  lookups.after = path.substr(hole + 4);
  lookups.from = arguments.number("from", 0);
  lookups.to = arguments.number("to", 1ULL << 40);
  lookups.operations = arguments.number("operations", UINT64_MAX - 1024);
  const auto threads = arguments.number("threads", 1);
  const Permutation pick(
      lookups.to - lookups.from,
      arguments.number("seed", static_cast<std::uint64_t>(
                                   std::chrono::system_clock::now().time_since_epoch().count())));

  std::vector<std::vector<std::uint32_t>> latencies(threads);
  std::vector<std::thread> workers;
  workers.reserve(threads);
  for (auto& mine : latencies)
    workers.emplace_back([&lookups, &pick, &mine] { work(lookups, pick, mine); });
  while (lookups.ready < static_cast<int>(threads)) std::this_thread::yield();
  const auto begin = Clock::now();
  lookups.go = true;
  if (lookups.operations > UINT64_MAX / 2) {
    std::this_thread::sleep_for(
        std::chrono::duration<double>(std::stod(arguments.text("seconds", "2"))));
    lookups.stop = true;
  }
  for (auto& worker : workers) worker.join();
  const double elapsed = seconds_since(begin);

  std::vector<std::uint32_t> all;
  for (const auto& mine : latencies) all.insert(all.end(), mine.begin(), mine.end());
  if (all.empty()) give_up("nothing was done");
  std::ranges::sort(all);
  std::printf(
      "{\"ops\":%zu,\"us_per_op\":%.4f,\"p50_us\":%.2f,\"p99_us\":%.2f,\"failed\":%llu,"
      "\"bytes\":%llu,\"repeated\":%s}\n",
      all.size(), elapsed * 1e6 / static_cast<double>(all.size()) * static_cast<double>(threads),
      all[all.size() / 2] / 1e3, all[all.size() * 99 / 100] / 1e3,
      static_cast<unsigned long long>(lookups.failed),
      static_cast<unsigned long long>(lookups.bytes),
      lookups.next > lookups.to - lookups.from ? "true" : "false");
  return lookups.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace offsetfs

int main(int argc, char** argv) {
  using namespace offsetfs;
  if (argc < 3) {
    std::fprintf(stderr, "usage: bench_client MOUNTPOINT op=OP ...; see the top of client.cc\n");
    return 2;
  }
  const Arguments arguments(argc, argv);
  const int root = ::open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) give_up(argv[1]);
  const std::string op = arguments.text("op", "orc");
  if (op == "list") return list(root, arguments);
  if (op == "stream") return stream(root, arguments);
  if (op == "end") return read_end(root, arguments);
  return time_lookups(root, arguments);
}
