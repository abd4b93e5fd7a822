#include "fs/record_lines.h"

#include "fs/line_slice.h"
#include "fs/line_tally.h"

namespace offsetfs::fs {

using storage::Record;
using storage::RecordReader;

storage::Result<void> RecordLines::measure(const BatchView& batch,
                                           const storage::DecodeLimits& limits,
                                           std::string& scratch, LineTally& tally) const {
  ASSIGN_OR_RETURN(RecordReader reader,
                   RecordReader::open(*batch.header, batch.entry, scratch, limits));
  const bool all = passes_all(batch);
  Record record;
  for (;;) {
    const std::uint32_t position = reader.record_position();
    const std::int32_t ordinal = reader.ordinal();
    const RecordReader::Step step = reader.next(record);
    if (step != RecordReader::Step::kRecord) [[unlikely]] {
      if (step == RecordReader::Step::kEnd) return {};
      return storage::fail(storage::Errc::kCorrupt, reader.why());
    }
    if (all || passes(batch, record)) tally.line(position, ordinal, renderer_->size(record));
  }
}

storage::Result<void> RecordLines::render(const BatchView& batch, RecordReader* records,
                                          LineSlice& slice) const {
  const bool all = passes_all(batch);
  Record record;
  while (!slice.full()) {
    const std::uint32_t position = records->record_position();
    const std::int32_t ordinal = records->ordinal();
    const RecordReader::Step step = records->next(record);
    if (step != RecordReader::Step::kRecord) [[unlikely]] {
      if (step == RecordReader::Step::kEnd) return {};
      return storage::fail(storage::Errc::kCorrupt, records->why());
    }
    if (!all && !passes(batch, record)) continue;
    slice.begin_line(position, ordinal);
    render_record(record, records->record_position() - position > kBigRecordBytes, slice);
  }
  return {};
}

void RecordLines::render_record(const Record& record, bool big, LineSlice& slice) const {
  if (!big && !slice.begins_before()) {
    renderer_->append(record, slice.out());
    slice.appended();
    return;
  }
  if (big && slice.take_kept()) return;
  const std::size_t size = renderer_->size(record);
  if (!slice.wants(size)) {
    slice.skip(size);
  } else if (big) {
    slice.take_big(size, [&](std::string& line) { renderer_->append(record, line); });
  } else {
    std::string line;
    renderer_->append(record, line);
    slice.take(line);
  }
}

}  // namespace offsetfs::fs
