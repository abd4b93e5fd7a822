#include "fs/render_batches.h"

#include "fs/batch_words.h"
#include "fs/json_object.h"

namespace offsetfs::fs {
namespace {

void add_if(JsonObject& line, std::string_view name, bool known, std::int64_t value) {
  known ? line.number(name, value) : line.null(name);
}

}  // namespace

void append_batch_line(const storage::BatchHeader& header, storage::Position position,
                       std::uint32_t crc_computed, std::string& out) {
  const bool is_wrapper = !header.is_v2() && header.codec_id() != 0;
  const std::int64_t base_timestamp = header.base_timestamp.value;
  JsonObject line;
  add_if(line, "base_offset", !is_wrapper, header.base_offset.value);
  line.number("last_offset", header.last_offset.value);
  add_if(line, "records_count", header.records_count >= 0, header.records_count);
  line.number("position", position.value)
      .number("size", header.size_bytes)
      .number("magic", header.magic)
      .number("leader_epoch", header.leader_epoch.value)
      .text("codec", codec_word(header))
      .number("attributes", header.attributes)
      .text("timestamp_type", timestamp_type_word(header.timestamp_type()));
  add_if(line, "base_timestamp", !header.has_delete_horizon(), base_timestamp);
  line.number("max_timestamp", header.max_timestamp.value);
  add_if(line, "delete_horizon", header.has_delete_horizon(), base_timestamp);
  line.boolean("transactional", header.is_transactional())
      .boolean("control", header.is_control())
      .number("producer_id", header.producer_id)
      .number("producer_epoch", header.producer_epoch)
      .number("base_sequence", header.base_sequence)
      .number("last_sequence", last_sequence(header))
      .number("crc", header.crc)
      .boolean("crc_valid", header.crc == crc_computed);
  if (header.crc != crc_computed) line.number("crc_computed", crc_computed);
  out.append(line.take()).push_back('\n');
}

void append_batch_damage_line(storage::Position position, storage::Position end,
                              std::string_view damage, std::string& out) {
  out.append(JsonObject()
                 .number("position", position.value)
                 .number("size", end - position)
                 .text("damage", damage)
                 .take())
      .push_back('\n');
}

}  // namespace offsetfs::fs
