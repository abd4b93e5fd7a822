#pragma once

#include <cstdint>
#include <string>

#include "storage/units.h"

// The two checksums of a log, both finished (start value and final inversion of FFFFFFFF included):
// they are compared with the stored field as they are. Any thread.

namespace offsetfs::storage {

// CRC-32C (Castagnoli): record batches of magic 2. "123456789" gives E3069283.
std::uint32_t crc32c(Bytes bytes);
// Of `before` and `bytes` back to back, where `crc` is crc32c(before).
std::uint32_t crc32c_extend(std::uint32_t crc, Bytes bytes);

// CRC-32 as gzip has it (IEEE): messages of magic 0 and 1. "123456789" gives CBF43926.
std::uint32_t crc32(Bytes bytes);

// For messages: "CRC stored 0x0123abcd, computed 0x89ef4567".
std::string crc_mismatch(std::uint32_t stored, std::uint32_t computed);

}  // namespace offsetfs::storage
