#include "fs/stats.h"

namespace offsetfs::fs {
namespace {

const char* name_of(Stats::Counter counter) {
  switch (counter) {
    case Stats::Counter::kLookups: return "lookups";
    case Stats::Counter::kGetattrs: return "getattrs";
    case Stats::Counter::kReadlinks: return "readlinks";
    case Stats::Counter::kOpens: return "opens";
    case Stats::Counter::kSlowOpens: return "slow_opens";
    case Stats::Counter::kReads: return "reads";
    case Stats::Counter::kReadBytes: return "read_bytes";
    case Stats::Counter::kListings: return "listings";
    case Stats::Counter::kListedNames: return "listed_names";
    case Stats::Counter::kXattrs: return "xattrs";
    case Stats::Counter::kWrites: return "writes";
    case Stats::Counter::kWrittenBytes: return "written_bytes";
    case Stats::Counter::kFailures: return "failures";
  }
  return "";
}

}  // namespace

void add_stat(std::string& text, const char* name, std::uint64_t value) {
  constexpr std::size_t kNameWidth = 24;
  constexpr std::size_t kValueWidth = 20;  // of the greatest
  const std::string digits = std::to_string(value);
  const std::size_t begin = text.size();
  text.append(name).resize(begin + kNameWidth, ' ');
  text.append(kValueWidth - digits.size(), ' ').append(digits).push_back('\n');
}

std::string Stats::text() const {
  std::string text;
  for (std::size_t i = 0; i < kCounters; ++i) {
    const auto counter = static_cast<Counter>(i);
    add_stat(text, name_of(counter), get(counter));
  }
  return text;
}

}  // namespace offsetfs::fs
