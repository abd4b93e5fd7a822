#pragma once

#include <string>

#include "fs/batch_lines.h"

namespace offsetfs::fs {

// batches.jsonl: a line a batch, of its header and place; and a line for what can't be read.
class BatchTableLines : public BatchLines {
 public:
  bool may_show(const storage::BatchHeader&) const override { return true; }
  bool needs_records() const override { return false; }
  bool shows_damage() const override { return true; }
  storage::Result<void> measure(const BatchView& batch, const storage::DecodeLimits& limits,
                                std::string& scratch, LineTally& tally) const override;
  storage::Result<void> render(const BatchView& batch, storage::RecordReader* records,
                               LineSlice& slice) const override;
  void measure_damage(const DamagedStretch& stretch, LineTally& tally) const override;
  void render_damage(const DamagedStretch& stretch, LineSlice& slice) const override;
};

}  // namespace offsetfs::fs
