#include "fs/batch_words.h"
#include "fs/control_json.h"
#include "fs/json_object.h"
#include "fs/record_renderers.h"
#include "storage/segment_files.h"

namespace offsetfs::fs {

std::string render_record_json(const RenderContext& context, const storage::BatchHeader& header,
                               const storage::Record& record, storage::Offset segment_base_offset,
                               storage::Position position) {
  JsonObject batch;
  batch.number("leader_epoch", header.leader_epoch.value)
      .number("producer_id", header.producer_id)
      .number("producer_epoch", header.producer_epoch)
      .number("sequence", record.sequence)
      .boolean("transactional", header.is_transactional())
      .text("codec", codec_word(header))
      .text("segment", storage::segment_base_name(segment_base_offset))
      .number("position", position.value)
      .number("batch_base_offset", header.base_offset.value)
      .number("batch_last_offset", header.last_offset.value)
      .boolean("crc_valid", true);  // of a batch whose CRC is wrong there are no records
  if (header.is_control()) batch.raw("control", control_json(record));

  std::string object;
  make_json_renderer(context)->append(record, object);
  object.resize(object.size() - 2);  // "}\n"
  return object.append(",").append(batch.fields()).append("}\n");
}

}  // namespace offsetfs::fs
