#include "fs/batch_table_lines.h"

#include "fs/line_slice.h"
#include "fs/line_tally.h"
#include "fs/render_batches.h"
#include "fs/stream_damage.h"

namespace offsetfs::fs {

namespace {

// The CRC was checked by whoever read the batch.
std::string line_of(const BatchView& batch) {
  std::string line;
  append_batch_line(*batch.header, batch.position, batch.header->crc, line);
  return line;
}

std::string line_of(const DamagedStretch& stretch) {
  std::string line;
  if (stretch.header)
    append_batch_line(*stretch.header, stretch.position, stretch.crc_computed, line);
  else
    append_batch_damage_line(stretch.position, stretch.end, stretch.why, line);
  return line;
}

}  // namespace

storage::Result<void> BatchTableLines::measure(const BatchView& batch, const storage::DecodeLimits&,
                                               std::string&, LineTally& tally) const {
  tally.line(0, 0, line_of(batch).size());
  return {};
}

storage::Result<void> BatchTableLines::render(const BatchView& batch, storage::RecordReader*,
                                              LineSlice& slice) const {
  slice.begin_line(0, 0);
  slice.take(line_of(batch));
  return {};
}

void BatchTableLines::measure_damage(const DamagedStretch& stretch, LineTally& tally) const {
  tally.line(0, 0, line_of(stretch).size());
}

void BatchTableLines::render_damage(const DamagedStretch& stretch, LineSlice& slice) const {
  slice.begin_line(0, 0);
  slice.take(line_of(stretch));
}

}  // namespace offsetfs::fs
