#include <optional>

#include "fs/record_renderers.h"

namespace offsetfs::fs {
namespace {

using Field = std::optional<storage::Bytes> storage::Record::*;

// `.values` and `.keys`: the field as it is, and a newline; null is an empty line.
template <Field kField>
class RawRenderer final : public RecordRenderer {
 public:
  std::size_t size(const storage::Record& record) const override {
    const auto& field = record.*kField;
    return (field ? field->size() : 0) + 1;
  }
  void append(const storage::Record& record, std::string& out) const override {
    const auto& field = record.*kField;
    if (field) out.append(*field);
    out.push_back('\n');
  }
};

}  // namespace

std::unique_ptr<const RecordRenderer> make_values_renderer() {
  return std::make_unique<RawRenderer<&storage::Record::value>>();
}
std::unique_ptr<const RecordRenderer> make_keys_renderer() {
  return std::make_unique<RawRenderer<&storage::Record::key>>();
}

}  // namespace offsetfs::fs
