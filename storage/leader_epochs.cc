#include "storage/leader_epochs.h"

#include <algorithm>
#include <utility>

#include "storage/check.h"
#include "storage/checkpoint_file.h"
#include "storage/java_number.h"

namespace offsetfs::storage {
namespace {

using Entry = LeaderEpochs::Entry;

bool ascend(const Entry& a, const Entry& b) {
  return a.epoch < b.epoch && a.start_offset < b.start_offset;
}

}  // namespace

LeaderEpochs::LeaderEpochs(std::vector<Entry> entries) : entries_(std::move(entries)) {
  CHECK(std::adjacent_find(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
          return !ascend(a, b);
        }) == entries_.end());
}

std::optional<LeaderEpoch> LeaderEpochs::epoch_of(Offset offset) const {
  const auto after = std::upper_bound(
      entries_.begin(), entries_.end(), offset,
      [](Offset wanted, const Entry& entry) { return wanted < entry.start_offset; });
  if (after == entries_.begin()) return std::nullopt;
  return std::prev(after)->epoch;
}

std::optional<Offset> LeaderEpochs::end_offset_of(LeaderEpoch epoch, Offset log_end_offset) const {
  if (entries_.empty() || epoch > entries_.back().epoch) return std::nullopt;
  const auto next =
      std::upper_bound(entries_.begin(), entries_.end(), epoch,
                       [](LeaderEpoch wanted, const Entry& entry) { return wanted < entry.epoch; });
  return next == entries_.end() ? log_end_offset : next->start_offset;
}

std::optional<LeaderEpoch> LeaderEpochs::latest() const {
  if (entries_.empty()) return std::nullopt;
  return entries_.back().epoch;
}

bool LeaderEpochs::assign(LeaderEpoch epoch, Offset start_offset) {
  if (!entries_.empty() && epoch <= entries_.back().epoch) return false;
  while (!entries_.empty() && entries_.back().start_offset >= start_offset) entries_.pop_back();
  entries_.push_back({epoch, start_offset});
  return true;
}

void LeaderEpochs::truncate_from_end(Offset log_end_offset) {
  while (!entries_.empty() && entries_.back().start_offset > log_end_offset) entries_.pop_back();
}

void LeaderEpochs::truncate_from_start(Offset log_start_offset) {
  const auto after = std::upper_bound(
      entries_.begin(), entries_.end(), log_start_offset,
      [](Offset start, const Entry& entry) { return start < entry.start_offset; });
  if (after == entries_.begin()) return;
  const auto current = std::prev(after);
  current->start_offset = log_start_offset;
  entries_.erase(entries_.begin(), current);
}

Result<LeaderEpochs> parse_leader_epochs(std::string_view text, const std::string& name) {
  std::vector<Entry> entries;
  RETURN_IF_ERROR(parse_checkpoint(
      text, name, 2,
      [&](std::span<const std::string_view> fields, const std::string& where) -> Result<void> {
        const auto epoch = parse_java_int(fields[0]);
        const auto start_offset = parse_java_long(fields[1]);
        if (!epoch || !start_offset) {
          return fail(Errc::kCorrupt, where + ": epoch or start offset is no number");
        }
        const Entry entry{LeaderEpoch{*epoch}, Offset{*start_offset}};
        if (!entries.empty() && !ascend(entries.back(), entry)) {
          return fail(Errc::kCorrupt, where + ": epoch and start offset don't ascend");
        }
        entries.push_back(entry);
        return {};
      }));
  return LeaderEpochs(std::move(entries));
}

std::string render_leader_epochs(const LeaderEpochs& epochs) {
  std::vector<std::string> lines;
  for (const auto& entry : epochs.entries()) {
    lines.push_back(std::to_string(entry.epoch.value) + " " +
                    std::to_string(entry.start_offset.value));
  }
  return render_checkpoint(lines);
}

}  // namespace offsetfs::storage
