#pragma once

#include <cstddef>
#include <string>

#include "storage/units.h"

namespace offsetfs::fs {

// Base64 of RFC 4648, section 4: the alphabet with + and /, padded.
constexpr std::size_t base64_bytes(std::size_t bytes) { return (bytes + 2) / 3 * 4; }

// Writes base64_bytes(bytes.size()) characters and returns their end.
char* write_base64(storage::Bytes bytes, char* out);

// Appends the bytes that `text` stands for to `out`. False, and `out` as it was, for what
// write_base64() never writes: padding left out, other characters, bits behind the last byte.
bool read_base64(storage::Bytes text, std::string& out);

}  // namespace offsetfs::fs
