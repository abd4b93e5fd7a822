#pragma once

#include "fs/escape.h"

namespace offsetfs::fs {

// Null where the machine (or the architecture) has no AVX2.
const Escaper* avx2_json_escaper();
const Escaper* avx2_tsv_escaper();

}  // namespace offsetfs::fs
