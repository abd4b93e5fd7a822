// Writes logs for tests that show them to a broker:
//
//   log_tool generate LOG_DIR TOPIC PARTITION EXPECTED [codec=none|gzip|snappy|lz4|zstd|mixed]
//       [records=N] [seed=N] [first_time=MS] [append_time=MS] [key_space=N]
//       [kind=plain|idempotent|transactions] [end=clean|crash] [SETTING=VALUE ...]
//   log_tool compact LOG_DIR TOPIC PARTITION now=MS [SETTING=VALUE ...]
//   log_tool replay SOURCE_PARTITION_DIR LOG_DIR TOPIC PARTITION [end=clean|crash]
//       [SETTING=VALUE ...]
//
// All print the log's end offset. `generate` appends records that its seed makes, batch by batch,
// and writes to EXPECTED what a consumer should get, a record a line:
//
//   offset TAB timestamp TAB key TAB value TAB header=value,...     hexadecimal, "-" is null
//
// Records of an aborted transaction are marked with a "!" before the offset. A `key_space` makes
// keys come again, and some of their values null: for compaction. `replay` appends the batches of
// another log as a producer sent them. The partition's directory is there already (offsetfs
// create).
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <unistd.h>

#include "storage/batch_builder.h"
#include "storage/batch_scanner.h"
#include "storage/dir_lock.h"
#include "storage/log_compaction.h"
#include "storage/log_config.h"
#include "storage/log_dir_writer.h"
#include "storage/log_writer.h"
#include "storage/segment_files.h"
#include "storage/write_dir.h"

namespace offsetfs {
namespace {

using namespace storage;  // NOLINT: a test's own program

using Words = std::map<std::string, std::string>;

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "log_tool: %s\n", why.c_str());
  std::exit(1);
}

template <class T>
T or_give_up(Result<T> result) {
  if (!result) give_up(result.error().what);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

std::string word(const Words& words, const std::string& key, const std::string& otherwise) {
  const auto found = words.find(key);
  return found == words.end() ? otherwise : found->second;
}

Words words_from(int argc, char** argv, int first) {
  Words words;
  for (int i = first; i < argc; ++i) {
    const std::string text = argv[i];
    const auto equals = text.find('=');
    if (equals == std::string::npos) give_up(text + ": expected KEY=VALUE");
    words[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return words;
}

// A log that is open for writing, with its directory's lock.
struct OpenLog {
  std::shared_ptr<LogDirWriter> log_dir;
  std::unique_ptr<LogWriter> log;

  void close() const {
    or_give_up(log->close());
    or_give_up(log_dir->close());
  }
};

OpenLog open_log(const std::string& log_dir, const TopicPartition& topic_partition,
                 const Words& words) {
  const auto io = make_io_backend(IoChoice::kPread, nullptr);
  std::shared_ptr<WriteDir> root = or_give_up(PosixWriteDir::open(log_dir, io));
  std::shared_ptr<WriteDir> dir =
      or_give_up(PosixWriteDir::open(log_dir + "/" + topic_partition.to_string(), io));
  ConfigLevels levels;
  for (const auto& [name, value] : words)
    if (check_setting(name, value)) levels.command_line[name] = value;
  LogWriter::Options options;
  options.allow_missing_keys = true;  // what a broker has is taken as it is
  options.config = resolve_config(levels).log;
  if (const auto time = word(words, "append_time", ""); !time.empty()) {
    options.config.log_append_time = true;
    options.now = [at = TimestampMs{std::stoll(time)}] { return at; };
  }
  OpenLog open;
  open.log_dir = or_give_up(LogDirWriter::open(root, or_give_up(DirLock::acquire(log_dir))));
  RecoveryReport report;
  open.log = or_give_up(LogWriter::open(dir, open.log_dir, topic_partition, options, &report));
  std::fputs(report.to_string().c_str(), stderr);
  return open;
}

void end(const OpenLog& open, const Words& words) {
  std::printf("%lld\n", static_cast<long long>(open.log->log_end_offset().value));
  std::fflush(stdout);
  if (word(words, "end", "clean") == "crash") ::_exit(0);
  open.close();
}

// --- generate -----------------------------------------------------------------------------------

std::string hex(const std::optional<std::string>& bytes) {
  if (!bytes) return "-";
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : *bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

struct MadeRecord {
  std::int64_t time = 0;
  std::optional<std::string> key, value;
  std::vector<std::pair<std::string, std::optional<std::string>>> headers;
};

class Generator {
 public:
  Generator(OpenLog& open, const Words& words, const std::string& expected)
      : open_(open),
        random_(std::stoull(word(words, "seed", "1"))),
        time_(std::stoll(word(words, "first_time", "1700000000000"))),
        key_space_(std::stoull(word(words, "key_space", "0"))),
        append_time_(word(words, "append_time", "")),
        codec_(word(words, "codec", "none")),
        kind_(word(words, "kind", "plain")),
        expected_(expected) {}

  void run(std::int64_t records) {
    while (records > 0) {
      const bool transaction = kind_ == "transactions" && chance(2);
      const bool aborted = transaction && chance(2);
      const auto batches = transaction ? 1 + below(4) : 1;
      for (std::uint64_t i = 0; i < batches; ++i) {
        const auto count = static_cast<std::int64_t>(1 + below(40));
        append_batch(count, transaction, aborted);
        records -= count;
      }
      if (transaction) append_marker(!aborted);
    }
    if (!expected_.flush()) give_up("the expected records can't be written");
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  bool chance(std::uint64_t one_in) { return below(one_in) == 0; }

  std::string bytes(std::size_t size) {
    std::string text(size, '\0');
    const bool compressible = chance(2);
    for (char& c : text) c = static_cast<char>(compressible ? 'a' + below(4) : below(256));
    return text;
  }

  MadeRecord make() {
    MadeRecord record;
    time_ += static_cast<std::int64_t>(below(20));
    record.time = time_ - static_cast<std::int64_t>(chance(10) ? below(5000) : 0);
    if (key_space_ > 0)
      record.key = "key-" + std::to_string(below(key_space_));
    else if (!chance(4))
      record.key = bytes(below(12));
    if (!chance(key_space_ > 0 ? 12 : 20)) record.value = bytes(below(chance(20) ? 4000 : 300));
    for (auto count = chance(3) ? below(4) : 0; count > 0; --count)
      record.headers.emplace_back("h" + std::to_string(below(9)),
                                  chance(5) ? std::nullopt : std::optional(bytes(below(9))));
    return record;
  }

  void expect(Offset offset, const MadeRecord& record, bool aborted) {
    expected_ << (aborted ? "!" : "") << offset.value << '\t'
              << (append_time_.empty() ? std::to_string(record.time) : append_time_) << '\t'
              << hex(record.key) << '\t' << hex(record.value) << '\t';
    for (std::size_t i = 0; i < record.headers.size(); ++i)
      expected_ << (i == 0 ? "" : ",") << record.headers[i].first << '='
                << hex(record.headers[i].second);
    expected_ << '\n';
  }

  Codec codec() {
    static const std::map<std::string, Codec> codecs = {{"none", Codec::kNone},
                                                        {"gzip", Codec::kGzip},
                                                        {"snappy", Codec::kSnappy},
                                                        {"lz4", Codec::kLz4},
                                                        {"zstd", Codec::kZstd}};
    if (codec_ == "mixed") return static_cast<Codec>(below(5));
    const auto found = codecs.find(codec_);
    if (found == codecs.end()) give_up("no codec " + codec_);
    return found->second;
  }

  void append_batch(std::int64_t count, bool transaction, bool aborted) {
    BatchBuilder::Options options;
    options.codec = codec();
    if (kind_ != "plain") {
      // One producer for transactions, one for the rest: data of both never mix.
      options.producer_id = transaction ? 2000 : 1000;
      options.producer_epoch = 0;
      options.base_sequence = sequences_[options.producer_id];
      options.is_transactional = transaction;
      sequences_[options.producer_id] += static_cast<std::int32_t>(count);
    }
    builder_.start(options);
    std::vector<MadeRecord> records;
    for (std::int64_t i = 0; i < count; ++i) records.push_back(make());
    std::vector<RecordHeader> headers;
    for (const auto& record : records) {
      headers.clear();
      for (const auto& [name, value] : record.headers)
        headers.push_back({name, value ? std::optional<Bytes>(*value) : std::nullopt});
      builder_.add({record.time}, record.key ? std::optional<Bytes>(*record.key) : std::nullopt,
                   record.value ? std::optional<Bytes>(*record.value) : std::nullopt, headers);
    }
    const auto appended = or_give_up(open_.log->append(builder_.finish()));
    for (std::size_t i = 0; i < records.size(); ++i)
      expect(appended.base_offset + static_cast<std::int64_t>(i), records[i], aborted);
  }

  void append_marker(bool is_commit) {
    auto marker = build_marker({.is_commit = is_commit,
                                .producer_id = 2000,
                                .producer_epoch = 0,
                                .coordinator_epoch = 0,
                                .timestamp = {time_}},
                               {0}, LeaderEpoch{0});
    or_give_up(open_.log->append(marker));
  }

  OpenLog& open_;
  std::mt19937_64 random_;
  std::int64_t time_;
  const std::uint64_t key_space_;
  const std::string append_time_, codec_, kind_;
  std::ofstream expected_;
  BatchBuilder builder_;
  std::map<std::int64_t, std::int32_t> sequences_;
};

int generate(int argc, char** argv) {
  if (argc < 6) give_up("generate LOG_DIR TOPIC PARTITION EXPECTED [KEY=VALUE ...]");
  const Words words = words_from(argc, argv, 6);
  OpenLog open = open_log(argv[2], {argv[3], std::atoi(argv[4])}, words);
  Generator(open, words, argv[5]).run(std::stoll(word(words, "records", "1000")));
  end(open, words);
  return 0;
}

// --- compact -------------------------------------------------------------------------------------

int compact(int argc, char** argv) {
  if (argc < 6) give_up("compact LOG_DIR TOPIC PARTITION now=MS [SETTING=VALUE ...]");
  const Words words = words_from(argc, argv, 5);
  const OpenLog open = open_log(argv[2], {argv[3], std::atoi(argv[4])}, words);
  const TimestampMs now{std::stoll(word(words, "now", "0"))};
  LogCompaction compaction(*open.log);
  const auto run = or_give_up(compaction.run_at_once(now));
  if (!run.cleaned) give_up("there was nothing to compact");
  or_give_up(compaction.unlink_due({INT64_MAX}));
  end(open, words);
  return 0;
}

// --- replay --------------------------------------------------------------------------------------

int replay(int argc, char** argv) {
  if (argc < 6) give_up("replay SOURCE_PARTITION_DIR LOG_DIR TOPIC PARTITION [SETTING=VALUE ...]");
  const Words words = words_from(argc, argv, 6);
  const OpenLog open = open_log(argv[3], {argv[4], std::atoi(argv[5])}, words);
  const auto source =
      or_give_up(PosixWriteDir::open(argv[2], make_io_backend(IoChoice::kPread, nullptr)));
  for (const auto& name : or_give_up(source->list_files())) {
    const auto parsed = parse_segment_file(name);
    if (!parsed || parsed->file != SegmentFile::kLog || parsed->suffix != SegmentSuffix::kNone)
      continue;
    const auto file = or_give_up(source->open_for_reading(name));
    BatchScanner scanner(*file, {0}, {or_give_up(file->info()).size_bytes});
    // A living log may end in zeros.
    for (auto step = scanner.next();
         step != BatchScanner::Step::kEnd && step != BatchScanner::Step::kTornTail;
         step = scanner.next()) {
      if (step != BatchScanner::Step::kBatch) give_up(name + ": no whole batch");
      std::string batch(scanner.batch().entry);
      assign_offsets(batch, {0}, kNoLeaderEpoch);
      or_give_up(open.log->append(batch));
    }
  }
  end(open, words);
  return 0;
}

}  // namespace
}  // namespace offsetfs

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "generate") return offsetfs::generate(argc, argv);
  if (what == "replay") return offsetfs::replay(argc, argv);
  if (what == "compact") return offsetfs::compact(argc, argv);
  offsetfs::give_up("generate, compact or replay");
}
