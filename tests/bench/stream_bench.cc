// The streams of a large segment without a mount: the pass that makes the exact size, and reads as
// the kernel's read-ahead makes them, beside a plain read of the same file. Run it as
//
//   build/tests/bench/stream_bench DIRECTORY [--benchmark_...]
//
// DIRECTORY is a partition's; what its first segment holds is read (make_log records=5000000
// segment_bytes=1200000000 makes 1 GiB). Bytes are those of the `.log`, warm.
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "fs/streams.h"
#include "storage/log_dir.h"

namespace offsetfs {
namespace {

using fs::Form;

constexpr std::size_t kReadBytes = 128 << 10;

std::string directory;

struct Log {
  Log() {
    auto opened = storage::LogDir::open(
        {directory}, storage::make_io_backend(storage::IoChoice::kAuto, nullptr), {});
    if (!opened) {
      std::fprintf(stderr, "%s\n", opened.error().what.c_str());
      std::exit(1);
    }
    source = *opened;
    log = *source->open(source->partitions()->front().id);
    entry = log->segments()->front();
    segment = *log->segment(entry);
    log_bytes = segment->opened_info().size_bytes;
  }

  std::unique_ptr<fs::StreamFile> open(fs::Streams& streams, Form form) const {
    fs::Node node;
    node.kind = fs::NodeKind::kSegmentStream;
    node.form = form;
    auto file = streams.open_segment(node, log, entry, {"bench", 0, 1});
    return file ? std::move(*file) : nullptr;
  }

  std::shared_ptr<const storage::LogDir> source;
  std::shared_ptr<const storage::PartitionLog> log;
  storage::SegmentEntry entry;
  std::shared_ptr<const storage::Segment> segment;
  std::int64_t log_bytes = 0;
};

// Reads [0, size) in blocks as `threads` workers get them: each takes the next.
template <class Read>
void read_all(std::int64_t size, int threads, const Read& read) {
  std::atomic<std::int64_t> next = 0;
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&] {
      std::string buffer;
      for (;;) {
        const std::int64_t position = next.fetch_add(kReadBytes);
        if (position >= size) return;
        read(position, buffer);
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
}

void read_plain(benchmark::State& state) {
  const Log log;
  for (auto _ : state) {
    read_all(
        log.log_bytes, static_cast<int>(state.range(0)),
        [&](std::int64_t position, std::string& buffer) {
          buffer.resize(kReadBytes);
          benchmark::DoNotOptimize(log.segment->log().read_at(storage::Position{position}, buffer));
        });
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * log.log_bytes);
}
BENCHMARK(read_plain)
    ->Arg(1)
    ->Arg(2)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void measure(benchmark::State& state, Form form) {
  const Log log;
  for (auto _ : state) {
    fs::Streams::Options options;
    options.scan_threads = static_cast<int>(state.range(0));
    storage::Problems problems;
    fs::Streams streams(options, problems);
    if (!log.open(streams, form)) state.SkipWithError("open failed");
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * log.log_bytes);
}

void read_stream(benchmark::State& state, Form form) {
  const Log log;
  storage::Problems problems;
  fs::Streams streams({}, problems);
  const auto file = log.open(streams, form);
  const std::int64_t size = *file->size_bytes();
  for (auto _ : state) {
    read_all(size, static_cast<int>(state.range(0)),
             [&](std::int64_t position, std::string& buffer) {
               benchmark::DoNotOptimize(
                   file->read(static_cast<std::uint64_t>(position), kReadBytes, buffer));
             });
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * size);
  state.SetLabel("bytes of the stream");
}

#define STREAM_BENCHMARK(function, form)           \
  BENCHMARK_CAPTURE(function, form, Form::k##form) \
      ->Arg(1)                                     \
      ->Arg(2)                                     \
      ->MeasureProcessCPUTime()                    \
      ->UseRealTime()                              \
      ->Unit(benchmark::kMillisecond)
STREAM_BENCHMARK(measure, Values);
STREAM_BENCHMARK(measure, Jsonl);
STREAM_BENCHMARK(measure, Tsv);
STREAM_BENCHMARK(read_stream, Values);
STREAM_BENCHMARK(read_stream, Jsonl);
STREAM_BENCHMARK(read_stream, Tsv);

}  // namespace
}  // namespace offsetfs

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s DIRECTORY [--benchmark_...]\n", argv[0]);
    return 1;
  }
  offsetfs::directory = argv[1];
  benchmark::RunSpecifiedBenchmarks();
}
