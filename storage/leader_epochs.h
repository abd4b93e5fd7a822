#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::storage {

// Which leader epoch an offset was written in: `leader-epoch-checkpoint` of a partition directory.
//
//   entry := epoch start_offset      (checkpoint_file.h); both strictly ascend
//
// A value. Source: Kafka's LeaderEpochCheckpointFile, LeaderEpochFileCache.
class LeaderEpochs {
 public:
  struct Entry {
    LeaderEpoch epoch{};
    Offset start_offset{};  // the first offset of that epoch
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  LeaderEpochs() = default;
  // Precondition: both fields of the entries strictly ascend.
  explicit LeaderEpochs(std::vector<Entry> entries);

  const std::vector<Entry>& entries() const { return entries_; }
  // The last entry with start_offset <= offset; nothing before the first.
  std::optional<LeaderEpoch> epoch_of(Offset offset) const;
  // Where an epoch ends (exclusive): at the next higher one, or at the log's end. Nothing for an
  // epoch beyond the last entry.
  std::optional<Offset> end_offset_of(LeaderEpoch epoch, Offset log_end_offset) const;
  // Nothing if there is no entry.
  std::optional<LeaderEpoch> latest() const;

  // Notes that `epoch` begins at `start_offset`. A newer epoch drops those that got no record, as a
  // broker does; an epoch at or below the latest changes nothing and gives false.
  bool assign(LeaderEpoch epoch, Offset start_offset);
  // Without the entries beyond the log's end that a crash left behind; one that begins at the end
  // is a leader that has not written yet.
  void truncate_from_end(Offset log_end_offset);
  // Without the epochs that lie wholly below the log's start; the one it lies in starts there.
  void truncate_from_start(Offset log_start_offset);

 private:
  std::vector<Entry> entries_;
};

Result<LeaderEpochs> parse_leader_epochs(std::string_view text, const std::string& name);
std::string render_leader_epochs(const LeaderEpochs& epochs);

}  // namespace offsetfs::storage
