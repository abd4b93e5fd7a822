// Appending and recovering, against a bare write(2) and a plain read of the same bytes:
//   write_bench DIRECTORY [MEBIBYTES]
// Batches of about 16 KiB, of 100 byte and of 1 KiB records, one writer and four; then the recovery
// of the segment that came of it, without its indexes, and its opening after a clean stop. Nothing
// is synced but what a roll is. tests/bench/kafka_perf gives a broker's own figure.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "storage/batch_builder.h"
#include "storage/log_dir_writer.h"
#include "storage/log_recovery.h"
#include "storage/log_writer.h"
#include "storage/pread_file.h"

namespace {

using namespace offsetfs::storage;
namespace files = std::filesystem;

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void must(bool condition, const std::string& what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(1);
}

std::string batch_of(std::size_t record_bytes) {
  BatchBuilder builder;
  const std::string value(record_bytes, 'v');
  while (builder.size_bytes() < 16000) builder.add({1700000000000}, std::nullopt, value);
  return builder.build();
}

std::string fresh(const std::string& dir) {
  files::remove_all(dir);
  files::create_directory(dir);
  return dir;
}

double bare_write(const std::string& dir, const std::string& batch, std::size_t count) {
  const int fd = ::open((fresh(dir) + "/bare").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  must(fd >= 0, dir);
  const double took = seconds([&] {
    for (std::size_t i = 0; i < count; ++i)
      must(::write(fd, batch.data(), batch.size()) == static_cast<ssize_t>(batch.size()), "write");
  });
  ::close(fd);
  return took;
}

double append(const std::string& dir, const std::string& batch, std::size_t count, int writers) {
  auto opened = PosixWriteDir::open(fresh(dir), std::make_shared<PreadBackend>());
  must(opened.has_value(), dir);
  auto log = LogWriter::open(*opened, nullptr, {"bench", 0}, {}, nullptr);
  must(log.has_value(), dir);
  return seconds([&] {
    std::vector<std::thread> threads;
    for (int w = 0; w < writers; ++w)
      threads.emplace_back([&] {
        std::string mine = batch;
        for (std::size_t i = 0; i < count / static_cast<std::size_t>(writers); ++i)
          must((*log)->append(mine).has_value(), "append");
      });
    for (auto& thread : threads) thread.join();
  });
}

// A log that was closed cleanly, however large: nothing is scanned.
void clean_opening(const std::string& dir) {
  const auto open_log = [&](RecoveryReport& report) {
    auto root = PosixWriteDir::open(dir, std::make_shared<PreadBackend>());
    auto files = PosixWriteDir::open(dir + "/bench-0", std::make_shared<PreadBackend>());
    must(root && files, dir);
    auto log_dir = LogDirWriter::open(*root, std::nullopt);
    must(log_dir.has_value(), dir);
    auto log = LogWriter::open(*files, *log_dir, {"bench", 0}, {}, &report);
    must(log.has_value(), log ? "" : log.error().what);
    return std::pair(std::move(*log_dir), std::move(*log));
  };
  RecoveryReport report;
  files::create_directory(dir + "/bench-0");
  for (const auto& entry : files::directory_iterator(dir))
    if (entry.is_regular_file())
      files::rename(entry.path(), files::path(dir + "/bench-0") / entry.path().filename());
  {
    const auto [log_dir, log] = open_log(report);
    must(log->close() && log_dir->close().value_or(false), "no clean stop");
  }
  const double took = seconds([&] { (void)open_log(report); });
  must(report.was_clean && report.bytes_walked == 0, "the log was scanned");
  std::printf("opening it after a clean stop: %.1f ms, nothing scanned\n", took * 1e3);
}

void recovery(const std::string& dir) {
  for (const auto& entry : files::directory_iterator(dir))
    if (entry.path().extension() != ".log") files::remove(entry.path());
  auto opened = PosixWriteDir::open(dir, std::make_shared<PreadBackend>());
  must(opened.has_value(), dir);
  const std::string name = "00000000000000000000.log";
  const auto bytes = static_cast<double>(files::file_size(dir + "/" + name));
  std::vector<char> piece(1 << 20);
  const int fd = ::open((dir + "/" + name).c_str(), O_RDONLY);
  // Recovery makes the segment durable: what is measured is the walk, not this disk's writing.
  must(fd >= 0 && ::fsync(fd) == 0, "fsync");
  const double read = seconds([&] {
    while (::read(fd, piece.data(), piece.size()) > 0) continue;
  });
  ::close(fd);
  double took = 0;
  took = seconds([&] {
    const auto log = recover_log(**opened, {});
    must(log.has_value(), log ? "" : log.error().what);
  });
  std::printf("recovery of %.0f MB: %.0f MB/s; a plain read %.0f MB/s\n", bytes / 1e6,
              bytes / took / 1e6, bytes / read / 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  must(argc >= 2, "write_bench DIRECTORY [MEBIBYTES]");
  const std::string dir = std::string(argv[1]) + "/write_bench";
  const std::size_t mebibytes = argc > 2 ? std::stoul(argv[2]) : 512;
  for (const std::size_t record_bytes : {100U, 1024U}) {
    const std::string batch = batch_of(record_bytes);
    const std::size_t count = (mebibytes << 20) / batch.size();
    const double bytes = static_cast<double>(count * batch.size());
    BatchHeader header;
    must(parse_batch_header(batch, header, nullptr) == HeaderStatus::kOk, "header");
    const double bare = bare_write(dir, batch, count);
    std::printf("%zu byte records: write(2) %.0f MB/s", record_bytes, bytes / bare / 1e6);
    for (const int writers : {1, 4}) {
      const double took = append(dir, batch, count, writers);
      std::printf("; %d writer(s) %.0f MB/s, %.2f of it, %.2f M records/s", writers,
                  bytes / took / 1e6, bare / took,
                  static_cast<double>(count) * header.records_count / took / 1e6);
    }
    std::printf("\n");
  }
  recovery(dir);
  clean_opening(dir);
  files::remove_all(dir);
  return 0;
}
