#pragma once

#include <memory>
#include <string>

#include "fs/batch_lines.h"
#include "fs/record_filter.h"
#include "fs/renderer.h"

namespace offsetfs::fs {

// A line a record, as far as the filter lets it pass.
class RecordLines : public BatchLines {
 public:
  RecordLines(std::unique_ptr<const RecordRenderer> renderer, RecordFilter filter)
      : renderer_(std::move(renderer)), filter_(filter) {}

  std::string head() const override { return renderer_->header(); }
  bool may_show(const storage::BatchHeader& header) const override {
    return filter_.may_pass(header);
  }
  bool needs_records() const override { return true; }
  storage::Result<void> measure(const BatchView& batch, const storage::DecodeLimits& limits,
                                std::string& scratch, LineTally& tally) const override;
  storage::Result<void> render(const BatchView& batch, storage::RecordReader* records,
                               LineSlice& slice) const override;

 private:
  // Beyond this a record is not made anew for every read of a part of its line.
  static constexpr std::uint32_t kBigRecordBytes = 64 << 10;

  bool passes_all(const BatchView& batch) const {
    return batch.header->last_offset < batch.records_end && filter_.passes_all(*batch.header);
  }
  bool passes(const BatchView& batch, const storage::Record& record) const {
    return record.offset < batch.records_end && filter_.passes(record);
  }
  void render_record(const storage::Record& record, bool big, LineSlice& slice) const;

  const std::unique_ptr<const RecordRenderer> renderer_;
  const RecordFilter filter_;
};

}  // namespace offsetfs::fs
