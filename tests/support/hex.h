#pragma once

#include <string>
#include <string_view>

namespace offsetfs::tests {

// "00ff" -> two bytes. Digits only, two a byte.
std::string unhex(std::string_view digits);
std::string hex(std::string_view bytes);

}  // namespace offsetfs::tests
