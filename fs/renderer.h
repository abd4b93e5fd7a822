#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "fs/node.h"
#include "storage/record_batch.h"

namespace offsetfs::fs {

// What the lines say beside the record itself.
struct RenderContext {
  std::string topic;
  std::int32_t partition = 0;
  std::optional<std::int32_t> broker;  // meta.properties' node.id (broker.id); left out where unknown
};

// One record -> the bytes of one line of a stream, one class a form (render_json.cc, render_raw.cc,
// render_text.cc). Stateless once made; any thread. A line is a function of the record and the
// context alone, so a stream can be entered at any record.
//
// size() says what append() would append, byte for byte, and is several times cheaper where it can
// be: the exact st_size of a stream is made of it.
class RecordRenderer {
 public:
  virtual ~RecordRenderer() = default;
  virtual std::size_t size(const storage::Record& record) const = 0;
  virtual void append(const storage::Record& record, std::string& out) const = 0;
  // What stands before the first line: .tsv's header line, else nothing.
  virtual std::string header() const { return {}; }
};

// form: kJsonl, kValues, kKeys or kTsv.
std::unique_ptr<const RecordRenderer> make_renderer(Form form, RenderContext context);

// `offsets/N.json`: kcat's object with the batch's fields added behind, and a newline; for a control
// record its `control`. `segment_base_offset` and `position` say where the batch lies.
std::string render_record_json(const RenderContext& context, const storage::BatchHeader& header,
                               const storage::Record& record,
                               storage::Offset segment_base_offset, storage::Position position);

}  // namespace offsetfs::fs
