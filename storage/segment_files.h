#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/units.h"

// The names of the files of a partition directory:
//
//   name := 20 digits "." ("log" | "index" | "timeindex" | "txnindex" | "snapshot") [ suffix ]
//   suffix := ".deleted" | ".cleaned" | ".swap"
//
// The digits are the segment's base offset (a snapshot's: the offset its state ends before).
// Source: Kafka's LogFileUtils, UnifiedLog.

namespace offsetfs::storage {

enum class SegmentFile { kLog, kOffsetIndex, kTimeIndex, kTransactionIndex, kProducerSnapshot };
enum class SegmentSuffix : std::uint8_t { kNone, kDeleted, kCleaned, kSwap };

struct SegmentFileName {
  Offset base_offset{};
  SegmentFile file = SegmentFile::kLog;
  SegmentSuffix suffix = SegmentSuffix::kNone;
};

std::optional<SegmentFileName> parse_segment_file(std::string_view name);
std::string segment_file_name(const SegmentFileName& name);
std::string segment_base_name(Offset base_offset);  // the 20 digits
const char* suffix_text(SegmentSuffix suffix);      // "", ".deleted", ".cleaned", ".swap"

}  // namespace offsetfs::storage
