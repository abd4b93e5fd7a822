#pragma once

#include <cstddef>
#include <string>

#include "storage/units.h"

namespace offsetfs::fs {

// UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing beyond U+10FFFF.
bool is_utf8(storage::Bytes bytes);

// The length, 1 to 4, of the sequence at the front of `bytes`; 0 if none begins there.
std::size_t utf8_sequence_bytes(storage::Bytes bytes);

// `bytes` with U+FFFD for each byte that belongs to no sequence: for names in text that must be
// UTF-8 and has no other way to say it.
std::string to_utf8(storage::Bytes bytes);

}  // namespace offsetfs::fs
