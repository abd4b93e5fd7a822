#include "storage/segment_list.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

namespace offsetfs::storage {
namespace {

using Names = std::span<const SegmentFileName>;

constexpr Offset kNever{std::numeric_limits<std::int64_t>::max()};

// [from, to): empty where nothing is swapped in.
struct Cover {
  Offset from = kNever;
  Offset to{std::numeric_limits<std::int64_t>::min()};
  bool holds(Offset offset) const { return from <= offset && offset < to; }
};

constexpr std::uint8_t bit(SegmentFile file) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(file));
}

Offset min_cleaned(Names names) {
  Offset lowest = kNever;
  for (const auto& name : names) {
    if (name.suffix == SegmentSuffix::kCleaned) lowest = std::min(lowest, name.base_offset);
  }
  return lowest;
}

Cover cover_of_swaps(Names names, Offset void_from, const NextOffsetOfSwap& next_offset) {
  Cover cover;
  for (const auto& name : names) {
    if (name.suffix != SegmentSuffix::kSwap || name.file != SegmentFile::kLog ||
        name.base_offset >= void_from) {
      continue;
    }
    cover.from = std::min(cover.from, name.base_offset);
    cover.to = std::max(cover.to, next_offset(name.base_offset).value_or(name.base_offset));
  }
  return cover;
}

class Resolution {
 public:
  Resolution(Offset void_from, Cover cover) : void_from_(void_from), cover_(cover) {}

  // All names of one base offset.
  void add(Names names) {
    const Offset base_offset = names.front().base_offset;
    std::array<std::uint8_t, 4> files{};  // by suffix
    for (const auto& name : names) {
      files[static_cast<std::size_t>(name.suffix)] |= bit(name.file);
    }
    auto& plain = files[static_cast<std::size_t>(SegmentSuffix::kNone)];
    auto& swapped = files[static_cast<std::size_t>(SegmentSuffix::kSwap)];
    if (base_offset >= void_from_) {
      set_aside(base_offset, SegmentSuffix::kSwap, std::exchange(swapped, 0));
    }
    const auto gone = cover_.holds(base_offset) ? plain : std::uint8_t(plain & swapped);
    for (const auto& name : names) {
      if (name.suffix == SegmentSuffix::kNone && (gone & bit(name.file)) != 0) {
        list_.replaced.push_back(name);
      }
    }
    plain = static_cast<std::uint8_t>(plain & ~gone);
    live(base_offset, plain, swapped);
    for (const auto suffix : {SegmentSuffix::kDeleted, SegmentSuffix::kCleaned}) {
      set_aside(base_offset, suffix, files[static_cast<std::size_t>(suffix)]);
    }
  }

  SegmentList take() { return std::move(list_); }

 private:
  void live(Offset base_offset, std::uint8_t plain, std::uint8_t swapped) {
    const auto files = static_cast<std::uint8_t>(plain | swapped);
    if ((files & bit(SegmentFile::kProducerSnapshot)) != 0) list_.snapshots.push_back(base_offset);
    if ((files & bit(SegmentFile::kLog)) == 0) return;
    const bool log_is_swapped = (swapped & bit(SegmentFile::kLog)) != 0;
    list_.live.push_back({base_offset, log_is_swapped ? SegmentSuffix::kSwap : SegmentSuffix::kNone,
                          files, swapped});
  }

  void set_aside(Offset base_offset, SegmentSuffix suffix, std::uint8_t files) {
    if ((files & bit(SegmentFile::kLog)) == 0) return;
    const auto swapped = suffix == SegmentSuffix::kSwap ? files : std::uint8_t{0};
    list_.set_aside.push_back({base_offset, suffix, files, swapped});
  }

  const Offset void_from_;
  const Cover cover_;
  SegmentList list_;
};

}  // namespace

SegmentList resolve_segments(std::vector<SegmentFileName> names,
                             const NextOffsetOfSwap& next_offset) {
  std::sort(names.begin(), names.end(), [](const SegmentFileName& a, const SegmentFileName& b) {
    return a.base_offset < b.base_offset;
  });
  const Offset void_from = min_cleaned(names);
  Resolution resolution(void_from, cover_of_swaps(names, void_from, next_offset));
  for (Names rest(names); !rest.empty();) {
    std::size_t same = 1;
    while (same < rest.size() && rest[same].base_offset == rest[0].base_offset) ++same;
    resolution.add(rest.first(same));
    rest = rest.subspan(same);
  }
  return resolution.take();
}

Result<SegmentList> list_segments(const SourceDir& dir, const std::string& below,
                                  const NextOffsetOfSwap& next_offset) {
  std::vector<SegmentFileName> names;
  RETURN_IF_ERROR(dir.list(below, [&names](const SourceDir::Entry& entry) {
    if (entry.kind != SourceDir::Kind::kFile) return true;
    if (const auto name = parse_segment_file(entry.name)) names.push_back(*name);
    return true;
  }));
  return resolve_segments(std::move(names), next_offset);
}

}  // namespace offsetfs::storage
