#pragma once

#include <cstddef>

#include "storage/units.h"

namespace offsetfs::fs {

// Escaping of bytes, at memory speed: vectorised where the processor has AVX2, plain loops
// elsewhere.
//
//   JSON as YAJL (and so kcat) writes it:  \" \\ \b \t \n \f \r  other controls \u00XX, upper case
//   TSV as PostgreSQL's COPY takes it:     \t \n \r \\            other bytes as they are
//
// Neither looks at UTF-8: bytes from 0x80 on pass.
struct EscapeScan {
  std::size_t added_bytes = 0;  // by which the escaped form is longer
  bool is_ascii = true;         // no byte from 0x80 on
};

struct Escaper {
  EscapeScan (*scan)(storage::Bytes bytes);
  // Writes the escaped form and returns its end. May touch kEscapeSlackBytes behind that end.
  char* (*write)(storage::Bytes bytes, char* out);
};
inline constexpr std::size_t kEscapeSlackBytes = 64;

// The fastest this machine has.
const Escaper& json_escaper();
const Escaper& tsv_escaper();

// The plain loops, whatever the machine: what the others are tested against.
const Escaper& portable_json_escaper();
const Escaper& portable_tsv_escaper();

}  // namespace offsetfs::fs
