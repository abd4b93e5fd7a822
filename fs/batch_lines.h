#pragma once

#include <cstdint>
#include <string>

#include "storage/batch_header.h"
#include "storage/record_batch.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::fs {

class LineSlice;
class LineTally;
struct DamagedStretch;

// A batch as it lies in its segment; its CRC was checked.
struct BatchView {
  const storage::BatchHeader* header = nullptr;
  storage::Bytes entry;  // the whole of it
  storage::Position position{};
  storage::Offset segment_base_offset{};
  // Records at or above this are not of this stream's segment: the next one has them too.
  storage::Offset records_end{INT64_MAX};
};

// How batches become lines. Lines are a function of the batch alone, so that a scan that only adds
// up sizes and reads that begin anywhere agree byte for byte. Stateless; any thread.
//
// An Error says what is wrong, not where: the caller knows file and position. The lines before it
// have been handed over.
class BatchLines {
 public:
  virtual ~BatchLines() = default;

  // What stands before the first line.
  virtual std::string head() const { return {}; }
  // False: the batch makes no line, so its body need not be decoded.
  virtual bool may_show(const storage::BatchHeader& header) const = 0;
  // True: lines are made of the records, decoded; else of the header and the bytes as they lie.
  virtual bool needs_records() const = 0;
  // True: a damaged stretch becomes a line and the stream goes on behind it.
  virtual bool shows_damage() const { return false; }

  // The sizes of the batch's lines. `scratch` is lent for decompression.
  virtual storage::Result<void> measure(const BatchView& batch, const storage::DecodeLimits& limits,
                                        std::string& scratch, LineTally& tally) const = 0;
  // The lines themselves, from where `records` stands until the slice is full. `records` is null
  // unless needs_records().
  virtual storage::Result<void> render(const BatchView& batch, storage::RecordReader* records,
                                       LineSlice& slice) const = 0;

  // Only where shows_damage().
  virtual void measure_damage(const DamagedStretch&, LineTally&) const {}
  virtual void render_damage(const DamagedStretch&, LineSlice&) const {}
};

}  // namespace offsetfs::fs
