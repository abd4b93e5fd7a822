#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/units.h"

namespace offsetfs::storage {

// What was done to a log when it was opened for writing: everything that was cut, removed or passed
// over. Producer snapshots that have been superseded go unsaid.
struct RecoveryReport {
  struct Cut {
    std::string file;
    Position position{};
    std::int64_t bytes = 0;
    std::string why;
  };
  bool was_clean = false;  // the clean mark held, and no segment had to be walked
  std::int64_t segments_walked = 0;
  std::int64_t batches_walked = 0;
  std::int64_t bytes_walked = 0;
  std::vector<Cut> cuts;
  std::vector<std::string> removed;  // .deleted, .cleaned, indexes without a .log, later snapshots
  std::vector<std::string> gaps;     // offsets that are in no segment, a sentence each
  std::vector<std::string> notes;    // what was wrong besides, a sentence each

  std::string to_string() const;  // a line each; empty if there is nothing to say
};

}  // namespace offsetfs::storage
