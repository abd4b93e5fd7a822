#pragma once

#include <memory>

#include "fs/renderer.h"

namespace offsetfs::fs {

// One for each file behind make_renderer().
std::unique_ptr<const RecordRenderer> make_json_renderer(const RenderContext& context);
std::unique_ptr<const RecordRenderer> make_values_renderer();
std::unique_ptr<const RecordRenderer> make_keys_renderer();
std::unique_ptr<const RecordRenderer> make_tsv_renderer();

}  // namespace offsetfs::fs
