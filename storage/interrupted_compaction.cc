#include "storage/interrupted_compaction.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "storage/batch_scanner.h"
#include "storage/segment_files.h"
#include "storage/units.h"

namespace offsetfs::storage {
namespace {

// What was doomed goes last, other than in segment_list.h: as long as a `.swap` has not taken its
// place, `.deleted` files are the only other copy. Every step is durable before the next, so
// another crash changes nothing.
class InterruptedCompaction {
 public:
  InterruptedCompaction(WriteDir& dir, RecoveryReport& report) : dir_(dir), report_(report) {}

  Result<void> run() {
    ASSIGN_OR_RETURN(const auto names, dir_.list_files());
    Offset min_cleaned{INT64_MAX};
    bool any = false;
    for (const auto& name : names) {
      const auto parsed = parse_segment_file(name);
      if (!parsed || parsed->suffix == SegmentSuffix::kNone) continue;
      any = true;
      if (parsed->suffix == SegmentSuffix::kCleaned)
        min_cleaned = std::min(min_cleaned, parsed->base_offset);
    }
    if (!any) return {};
    RETURN_IF_ERROR(remove_where([&](const SegmentFileName& name) {
      return name.suffix == SegmentSuffix::kSwap && name.base_offset >= min_cleaned;
    }));
    RETURN_IF_ERROR(remove_where(
        [](const SegmentFileName& name) { return name.suffix == SegmentSuffix::kCleaned; }));
    ASSIGN_OR_RETURN(const auto covered, covered_by_swaps());
    RETURN_IF_ERROR(remove_where([&](const SegmentFileName& name) {
      return name.suffix == SegmentSuffix::kNone && name.base_offset >= covered.first &&
             name.base_offset < covered.second;
    }));
    RETURN_IF_ERROR(adopt_swaps());
    return remove_where(
        [](const SegmentFileName& name) { return name.suffix == SegmentSuffix::kDeleted; });
  }

 private:
  Result<void> remove_where(const std::function<bool(const SegmentFileName&)>& doomed) {
    ASSIGN_OR_RETURN(const auto names, dir_.list_files());
    for (const auto& name : names)
      if (const auto parsed = parse_segment_file(name); parsed && doomed(*parsed))
        RETURN_IF_ERROR(remove(name));
    return dir_.sync_dir();
  }

  // [the lowest base, the highest next offset) of the `.log.swap` files; empty where there are
  // none. Each is read to its end: what it was made from is about to go.
  Result<std::pair<Offset, Offset>> covered_by_swaps() {
    std::pair<Offset, Offset> covered{Offset{INT64_MAX}, Offset{0}};
    ASSIGN_OR_RETURN(const auto names, dir_.list_files());
    for (const auto& name : names) {
      const auto parsed = parse_segment_file(name);
      if (!parsed || parsed->suffix != SegmentSuffix::kSwap || parsed->file != SegmentFile::kLog)
        continue;
      covered.first = std::min(covered.first, parsed->base_offset);
      ASSIGN_OR_RETURN(const auto file, dir_.open_for_reading(name));
      ASSIGN_OR_RETURN(const FileInfo info, file->info());
      BatchScanner scanner(*file, {0}, {info.size_bytes},
                           {.segment_base_offset = parsed->base_offset});
      auto step = scanner.next();
      for (; step == BatchScanner::Step::kBatch; step = scanner.next())
        covered.second = std::max(covered.second, scanner.batch().header.next_offset());
      if (step == BatchScanner::Step::kEnd) continue;
      if (step == BatchScanner::Step::kIo) return fail(scanner.error());
      return fail(Errc::kCorrupt,
                  file->name() + ": the result of a compaction, and not whole at position " +
                      std::to_string(scanner.position().value) + ". Nothing was replaced by it; " +
                      cure_of(name, parsed->base_offset, names));
    }
    return covered;
  }

  // Those of a result's originals that were renamed already lie below the first that was not.
  static std::string cure_of(const std::string& swap, Offset base_offset,
                             const std::vector<std::string>& names) {
    Offset until{INT64_MAX};
    std::string renamed;
    for (const auto& name : names) {
      const auto parsed = parse_segment_file(name);
      if (!parsed || parsed->file != SegmentFile::kLog || parsed->base_offset < base_offset)
        continue;
      if (parsed->suffix == SegmentSuffix::kNone) until = std::min(until, parsed->base_offset);
      if (parsed->suffix == SegmentSuffix::kDeleted && parsed->base_offset < until)
        renamed += (renamed.empty() ? "" : ", ") + name;
    }
    if (renamed.empty()) return "if the segments it was made from are still there, remove " + swap;
    return "what it was made from is in " + renamed + ": remove " + swap +
           ", and take .deleted off the names of these";
  }

  // The `.log` first: with its `.swap` gone nothing is taken for replaced any more.
  Result<void> adopt_swaps() {
    ASSIGN_OR_RETURN(auto names, dir_.list_files());
    std::ranges::stable_partition(
        names, [](const std::string& name) { return name.ends_with(".log.swap"); });
    for (const auto& name : names) {
      const auto parsed = parse_segment_file(name);
      if (!parsed || parsed->suffix != SegmentSuffix::kSwap) continue;
      RETURN_IF_ERROR(
          dir_.rename(name, segment_file_name({parsed->base_offset, parsed->file, {}})));
      report_.notes.push_back(dir_.name_of(name) +
                              ": the result of a compaction that was cut short, adopted");
    }
    return dir_.sync_dir();
  }

  Result<void> remove(const std::string& name) {
    RETURN_IF_ERROR(dir_.unlink_if_there(name));
    report_.removed.push_back(dir_.name_of(name));
    return {};
  }

  WriteDir& dir_;
  RecoveryReport& report_;
};

}  // namespace

Result<void> settle_interrupted_compaction(WriteDir& dir, RecoveryReport& report) {
  return InterruptedCompaction(dir, report).run();
}

}  // namespace offsetfs::storage
