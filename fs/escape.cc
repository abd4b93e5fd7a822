#include "fs/escape.h"

#include "fs/escape_avx2.h"
#include "fs/escape_rules.h"

namespace offsetfs::fs {
namespace {

template <const EscapeRules& kRules>
EscapeScan scan(storage::Bytes bytes) {
  EscapeScan result;
  unsigned char all = 0;
  for (const char c : bytes) {
    result.added_bytes += kRules.bytes(c) - 1;
    all |= static_cast<unsigned char>(c);
  }
  result.is_ascii = all < 0x80;
  return result;
}

template <const EscapeRules& kRules>
char* write(storage::Bytes bytes, char* out) {
  return write_escaped(kRules, bytes.data(), bytes.data() + bytes.size(), out);
}

constexpr Escaper kPortableJson{scan<kJsonRules>, write<kJsonRules>};
constexpr Escaper kPortableTsv{scan<kTsvRules>, write<kTsvRules>};

}  // namespace

const Escaper& portable_json_escaper() { return kPortableJson; }
const Escaper& portable_tsv_escaper() { return kPortableTsv; }

const Escaper& json_escaper() {
  const Escaper* const fast = avx2_json_escaper();
  return fast != nullptr ? *fast : kPortableJson;
}
const Escaper& tsv_escaper() {
  const Escaper* const fast = avx2_tsv_escaper();
  return fast != nullptr ? *fast : kPortableTsv;
}

}  // namespace offsetfs::fs
