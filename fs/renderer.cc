#include "fs/renderer.h"

#include "fs/record_renderers.h"
#include "storage/check.h"

namespace offsetfs::fs {

std::unique_ptr<const RecordRenderer> make_renderer(Form form, RenderContext context) {
  switch (form) {
    case Form::kJsonl: return make_json_renderer(context);
    case Form::kValues: return make_values_renderer();
    case Form::kKeys: return make_keys_renderer();
    case Form::kTsv: return make_tsv_renderer();
    case Form::kRaw:
    case Form::kJson:
    case Form::kKey:
    case Form::kLookup: break;
  }
  CHECK(false && "not the form of a stream");
  return nullptr;
}

}  // namespace offsetfs::fs
