#pragma once

#include <string>
#include <string_view>

#include "storage/batch_header.h"
#include "storage/units.h"

namespace offsetfs::fs {

// One line of batches.jsonl: every field of the header, where the batch lies, and whether its CRC
// is right; `crc_computed` is of its bytes (compute_batch_crc()).
//
//   base_offset last_offset records_count position size magic leader_epoch codec attributes
//   timestamp_type base_timestamp max_timestamp delete_horizon transactional control producer_id
//   producer_epoch base_sequence last_sequence crc crc_valid [crc_computed, where it differs]
//
// What a batch does not have is as Kafka has it: -1. What only decompression would tell is null:
// the base offset of a compressed batch of magic 0 or 1, and the count of any of these.
// base_timestamp is null where its place holds the delete horizon.
void append_batch_line(const storage::BatchHeader& header, storage::Position position,
                       std::uint32_t crc_computed, std::string& out);

// The line of a stretch that holds no readable batch: position, size, and the `damage`, a sentence.
void append_batch_damage_line(storage::Position position, storage::Position end,
                              std::string_view damage, std::string& out);

}  // namespace offsetfs::fs
