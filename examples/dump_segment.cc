// Prints a file of a partition directory: the batches of a segment, with --records their records
// too, the entries of an index, the producers of a snapshot.
//
//   dump_segment orders-3/00000000000000000000.log
//   dump_segment --records orders-3/00000000000000000000.log.deleted
//   dump_segment orders-3/00000000000000000000.timeindex
//
// Nothing but storage/ is used: this is how a program reads a Kafka log without a mount.

#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "storage/batch_header.h"
#include "storage/batch_scanner.h"
#include "storage/dir.h"
#include "storage/offset_index.h"
#include "storage/producer_snapshot.h"
#include "storage/record_batch.h"
#include "storage/segment_files.h"
#include "storage/time_index.h"
#include "storage/transaction_index.h"

using namespace offsetfs::storage;

namespace {

constexpr std::size_t kMostSnapshotBytes = 64 << 20;

std::string shown(const std::optional<Bytes>& bytes) {
  if (!bytes) return "null";
  std::string text = "\"";
  for (const char c : *bytes) {
    const auto byte = static_cast<unsigned char>(c);
    char escaped[5];
    if (byte >= 0x20 && byte < 0x7F && c != '"' && c != '\\') {
      text += c;
    } else {
      std::snprintf(escaped, sizeof escaped, "\\x%02x", byte);
      text += escaped;
    }
  }
  return text + "\"";
}

Result<void> print_records(const BatchHeader& header, Bytes entry) {
  std::string scratch;
  ASSIGN_OR_RETURN(auto reader, RecordReader::open(header, entry, scratch));
  Record record;
  for (;;) {
    switch (reader.next(record)) {
      case RecordReader::Step::kEnd: return {};
      case RecordReader::Step::kCorrupt: return fail(Errc::kCorrupt, reader.why());
      case RecordReader::Step::kRecord:
        std::printf("  offset=%lld timestamp=%lld key=%s value=%s headers=%d\n",
                    static_cast<long long>(record.offset.value),
                    static_cast<long long>(record.timestamp.value), shown(record.key).c_str(),
                    shown(record.value).c_str(), record.headers.count());
    }
  }
}

void print_batch(const BatchScanner::Batch& batch) {
  const BatchHeader& header = batch.header;
  std::printf(
      "position=%lld base_offset=%lld last_offset=%lld size_bytes=%lld magic=%d codec=%s "
      "records=%d max_timestamp=%lld leader_epoch=%d producer_id=%lld%s%s\n",
      static_cast<long long>(batch.position.value),
      static_cast<long long>(header.base_offset.value),
      static_cast<long long>(header.last_offset.value), static_cast<long long>(header.size_bytes),
      header.magic, codec_name(static_cast<Codec>(header.codec_id())), header.records_count,
      static_cast<long long>(header.max_timestamp.value), header.leader_epoch.value,
      static_cast<long long>(header.producer_id), header.is_transactional() ? " transactional" : "",
      header.is_control() ? " control" : "");
}

// A torn tail ends a log quietly; damage is said, and the walk goes on where it can.
Result<void> print_log(const File& log, bool with_records) {
  ASSIGN_OR_RETURN(const auto info, log.info());
  BatchScanner scanner(log, Position{0}, Position{info.size_bytes});
  for (;;) {
    switch (scanner.next()) {
      case BatchScanner::Step::kBatch:
        print_batch(scanner.batch());
        if (with_records)
          RETURN_IF_ERROR(print_records(scanner.batch().header, scanner.batch().entry));
        break;
      case BatchScanner::Step::kEnd: return {};
      case BatchScanner::Step::kTornTail:
        std::printf("position=%lld torn tail\n", static_cast<long long>(scanner.position().value));
        return {};
      case BatchScanner::Step::kIo: return fail(scanner.error());
      case BatchScanner::Step::kDamaged:
        std::printf("damaged: %s\n", scanner.error().what.c_str());
        if (scanner.damage_end().value < 0) return fail(scanner.error());
        scanner.resume_at(scanner.damage_end());
    }
  }
}

Result<void> print_offset_index(const OffsetIndex& index) {
  return index.for_each([](const OffsetPosition& entry) {
    std::printf("offset=%lld position=%lld\n", static_cast<long long>(entry.offset.value),
                static_cast<long long>(entry.position.value));
    return true;
  });
}

Result<void> print_time_index(const TimeIndex& index) {
  return index.for_each([](const TimestampOffset& entry) {
    std::printf("timestamp=%lld offset=%lld\n", static_cast<long long>(entry.timestamp.value),
                static_cast<long long>(entry.offset.value));
    return true;
  });
}

Result<void> print_transaction_index(const TransactionIndex& index) {
  return index.for_each([](const AbortedTransaction& entry) {
    std::printf("producer_id=%lld first_offset=%lld last_offset=%lld last_stable_offset=%lld\n",
                static_cast<long long>(entry.producer_id),
                static_cast<long long>(entry.first_offset.value),
                static_cast<long long>(entry.last_offset.value),
                static_cast<long long>(entry.last_stable_offset.value));
    return true;
  });
}

Result<void> print_snapshot(const SourceDir& dir, const std::string& name) {
  ASSIGN_OR_RETURN(const auto bytes, dir.read_whole(name, kMostSnapshotBytes));
  ASSIGN_OR_RETURN(const auto entries, parse_producer_snapshot(bytes, dir.name_of(name)));
  for (const auto& entry : entries)
    std::printf("producer_id=%lld epoch=%d last_sequence=%d last_offset=%lld\n",
                static_cast<long long>(entry.producer_id), entry.producer_epoch,
                entry.last_sequence, static_cast<long long>(entry.last_offset.value));
  return {};
}

Result<void> print_file(const std::string& path, bool with_records) {
  const auto slash = path.rfind('/');
  const auto folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const auto name = slash == std::string::npos ? path : path.substr(slash + 1);
  const auto parsed = parse_segment_file(name);
  if (!parsed)
    return fail(Errc::kInvalid, path + ": no segment, index or snapshot (20 digits and .log, ...)");

  const auto io = make_io_backend(IoChoice::kPread, nullptr);
  ASSIGN_OR_RETURN(const auto dir, SourceDir::open(folder, io));
  if (parsed->file == SegmentFile::kProducerSnapshot) return print_snapshot(*dir, name);
  ASSIGN_OR_RETURN(auto file, dir->open_file(name));
  switch (parsed->file) {
    case SegmentFile::kOffsetIndex:
      return print_offset_index({std::move(file), parsed->base_offset});
    case SegmentFile::kTimeIndex: return print_time_index({std::move(file), parsed->base_offset});
    case SegmentFile::kTransactionIndex:
      return print_transaction_index({std::move(file), parsed->base_offset});
    default: return print_log(*file, with_records);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool with_records = argc > 1 && std::strcmp(argv[1], "--records") == 0;
  if (argc != (with_records ? 3 : 2)) {
    std::fprintf(stderr, "usage: dump_segment [--records] FILE\n");
    return 2;
  }
  const auto printed = print_file(argv[argc - 1], with_records);
  if (printed) return 0;
  std::fprintf(stderr, "dump_segment: %s\n", printed.error().what.c_str());
  return 1;
}
