// What one core does without any file system: checking CRCs, walking records, rendering lines. Run
// it as build/tests/bench/core_bench; bytes are those of the batch.
#include <string>

#include <benchmark/benchmark.h>

#include "fs/renderer.h"
#include "storage/batch_builder.h"
#include "storage/crc32c.h"
#include "storage/record_batch.h"

namespace offsetfs {
namespace {

// A batch of `bytes` of 215-byte records, as the large logs of make_log have.
std::string make_batch(std::size_t bytes, storage::Codec codec) {
  storage::BatchBuilder::Options options;
  options.codec = codec;
  storage::BatchBuilder builder(options);
  std::uint64_t state = 42;
  std::string value;
  for (std::int64_t n = 0; builder.size_bytes() + 215 <= bytes; ++n) {
    value.clear();
    while (value.size() < 205) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      value.append("w").append(std::to_string(state >> 55)).append(" ");
    }
    value.resize(205);
    builder.add({1'700'000'000'000 + n}, std::nullopt, value);
  }
  return builder.build();
}

storage::BatchHeader header_of(const std::string& entry) {
  storage::BatchHeader header;
  storage::parse_batch_header(entry, header, nullptr);
  return header;
}

void count_bytes(benchmark::State& state, const std::string& entry) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(entry.size()));
}

void check_crc(benchmark::State& state) {
  const std::string entry = make_batch(static_cast<std::size_t>(state.range(0)), {});
  const auto header = header_of(entry);
  for (auto _ : state) benchmark::DoNotOptimize(storage::compute_batch_crc(header, entry));
  count_bytes(state, entry);
}
BENCHMARK(check_crc)->Arg(16384)->Arg(131072);

void walk_records(benchmark::State& state) {
  const auto codec = static_cast<storage::Codec>(state.range(0));
  const std::string entry = make_batch(131072, codec);
  const auto header = header_of(entry);
  std::string scratch;
  for (auto _ : state) {
    auto reader = storage::RecordReader::open(header, entry, scratch);
    if (!reader) state.SkipWithError(reader.error().what.c_str());
    storage::Record record;
    while (reader->next(record) == storage::RecordReader::Step::kRecord)
      benchmark::DoNotOptimize(record);
  }
  count_bytes(state, entry);
  state.SetLabel(storage::codec_name(codec));
}
BENCHMARK(walk_records)->DenseRange(0, 4);

void render(benchmark::State& state, fs::Form form, bool size_only) {
  const std::string entry = make_batch(131072, storage::Codec::kNone);
  const auto header = header_of(entry);
  const auto renderer = fs::make_renderer(form, {"bench", 0, 1});
  std::string scratch;
  std::string lines;
  for (auto _ : state) {
    auto reader = storage::RecordReader::open(header, entry, scratch);
    lines.clear();
    std::size_t size = 0;
    storage::Record record;
    while (reader->next(record) == storage::RecordReader::Step::kRecord) {
      if (size_only)
        size += renderer->size(record);
      else
        renderer->append(record, lines);
    }
    benchmark::DoNotOptimize(lines.data());
    benchmark::DoNotOptimize(size);
  }
  count_bytes(state, entry);
}
BENCHMARK_CAPTURE(render, values, fs::Form::kValues, false);
BENCHMARK_CAPTURE(render, jsonl, fs::Form::kJsonl, false);
BENCHMARK_CAPTURE(render, tsv, fs::Form::kTsv, false);
BENCHMARK_CAPTURE(render, sizes_of_values, fs::Form::kValues, true);
BENCHMARK_CAPTURE(render, sizes_of_jsonl, fs::Form::kJsonl, true);

}  // namespace
}  // namespace offsetfs

BENCHMARK_MAIN();
