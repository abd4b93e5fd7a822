#pragma once

#include <string>

#include "storage/record.h"

namespace offsetfs::fs {

// What a control record says, as one object: type, version, then the fields of its type, named as
// in Kafka's schemas. An unknown type is its number, and its value hexadecimal; so is a value that
// does not read as its type's, with the `error`.
std::string control_json(const storage::Record& record);

}  // namespace offsetfs::fs
