#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "storage/batch_header.h"
#include "storage/owned_bytes.h"
#include "storage/record.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::storage {

struct DecodeLimits {
  // What a batch may decompress to. A batch that claims more is refused (kTooLarge), whatever it
  // claims: memory is bound by what was really produced.
  std::int64_t decompressed_bytes = 256LL << 20;
};

// A forward cursor over the records of one batch of any magic. It holds views only: into the
// batch's own bytes where it is not compressed, else into the scratch string given at open.
//
//   record v2 := length: vi  attributes: i8  timestamp_delta: vl  offset_delta: vi
//                key: vi + bytes  value: vi + bytes  count: vi  header*
//   legacy    := messages back to back (batch_header.h), offsets absolute (magic 0) or relative to
//                the wrapper's last (magic 1)
//
// Source: Kafka's DefaultRecord, AbstractLegacyRecordBatch.
class RecordReader {
 public:
  enum class Step { kRecord, kEnd, kCorrupt };

  // `entry`: the whole batch, header.size_bytes long, whose CRC was found good. Decompresses into
  // `scratch` where needed. kCorrupt, kUnsupported (codec id), kTooLarge; messages say what, not
  // where: the caller knows file and position.
  static Result<RecordReader> open(const BatchHeader& header, Bytes entry, std::string& scratch,
                                   const DecodeLimits& limits = {});

  // Over some of a batch's records, `part` of its decoded records section, from a record boundary
  // to another: magic 2. `ordinal`: how many lie before them. At the part's end next() says
  // kCorrupt unless it is the batch's.
  static RecordReader over_part(const BatchHeader& header, Bytes part, std::int32_t ordinal);

  // kCorrupt: `why()` says what, and the cursor stays there. kEnd is given only when the batch was
  // used up exactly as its header says.
  Step next(Record& record);
  const std::string& why() const { return why_; }

  // Where the next record begins in the decoded records section: seek() comes back there. With the
  // batch's position in the file this names a record for good (a resume point of a stream).
  std::uint32_t record_position() const { return position_; }
  // `ordinal`: how many records lie before it.
  void seek(std::uint32_t record_position, std::int32_t ordinal);
  std::int32_t ordinal() const { return ordinal_; }

  // Records in the batch. Known for every magic once opened.
  std::int32_t records_count() const { return records_count_; }
  // Of the first record as stored; for legacy wrappers known only now. Batch without records: its
  // base_offset.
  Offset first_offset() const { return first_offset_; }

 private:
  friend class DecodedBatch;

  Result<void> open_v2(Bytes entry, std::string& scratch, std::int64_t limit);
  Result<void> open_legacy(Bytes entry, std::string& scratch, std::int64_t limit);
  Result<void> open_wrapper();
  Step next_v2(Record& record);
  [[gnu::noinline]] Step next_v2_of_any_shape(Record& record);
  void finish_v2(Record& record, std::int64_t timestamp_delta, std::int32_t offset_delta,
                 const char* end);
  Step next_legacy(Record& record);
  [[gnu::cold, gnu::noinline]] Step end_v2();
  enum class Fault { kLength, kFields, kOffset };
  [[gnu::cold, gnu::noinline]] Step corrupt_record(Fault fault, std::int64_t found);
  [[gnu::cold, gnu::noinline]] Step corrupt(const std::string& why);

  BatchHeader header_;
  Bytes section_;               // decoded records
  std::uint32_t position_ = 0;  // in section_
  std::int32_t ordinal_ = 0;
  std::int32_t records_count_ = 0;
  TimestampType timestamp_type_ = TimestampType::kNone;  // v2
  std::int32_t last_delta_ = 0;                          // v2
  std::int32_t previous_delta_ = -1;  // v2: offset delta of the record before, if that was read
  Offset first_offset_{};
  std::int64_t relative_base_ = 0;  // legacy: what is added to an inner offset
  std::string why_;
};

// A batch that owns its bytes: CRC checked, decompressed once, immutable; share freely between
// threads.
class DecodedBatch {
 public:
  // `entry`: one whole entry; its header is parsed and its CRC checked. kCorrupt names expected and
  // found.
  static Result<std::shared_ptr<const DecodedBatch>> decode(OwnedBytes entry,
                                                            const DecodeLimits& limits = {});
  static Result<std::shared_ptr<const DecodedBatch>> decode(Bytes entry,
                                                            const DecodeLimits& limits = {}) {
    return decode(OwnedBytes(entry), limits);
  }

  const BatchHeader& header() const { return header_; }
  RecordReader records() const { return first_; }  // a fresh cursor; views live as long as this
  std::size_t memory_bytes() const;

 private:
  DecodedBatch() = default;

  BatchHeader header_;
  OwnedBytes entry_;
  std::string scratch_;
  RecordReader first_;
};

}  // namespace offsetfs::storage
