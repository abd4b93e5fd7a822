#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/result.h"

namespace offsetfs::storage {

// Kafka's text checkpoints:
//
//   text  := "" | version [ count entry{count} ]      one a line
//   entry := field (whitespace field)*                always the same number of fields
//
// The version is 0. Source: Kafka's CheckpointFile.

// Calls `entry` with the fields of each entry line and "name:line" for messages; an error of its
// ends the reading. kUnsupported for another version, kCorrupt for anything else that a broker
// refuses; `name` is the file's, for messages.
Result<void> parse_checkpoint(
    std::string_view text, const std::string& name, std::size_t fields,
    const std::function<Result<void>(std::span<const std::string_view> fields,
                                     const std::string& where)>& entry);

// One string an entry, its fields joined by single spaces.
std::string render_checkpoint(std::span<const std::string> entries);

}  // namespace offsetfs::storage
