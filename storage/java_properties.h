#pragma once

#include <map>
#include <string>
#include <string_view>

#include "storage/result.h"

namespace offsetfs::storage {

// Java's properties files, by the rules of java.util.Properties.load:
//
//   a line is a comment if its first character is "#" or "!"; blank lines count for nothing;
//   an odd number of backslashes at its end joins the next line, without that one's indentation;
//   the key ends at the first bare "=", ":" or blank; the value begins behind blanks, at most one
//   "=" or ":", and blanks again, and keeps the blanks at its end; \t \n \r \f \uXXXX mean what
//   they mean in Java; any other backslash only guards what follows it.
//
// Keys and values are UTF-8; bytes above 127 are taken as they are.
using JavaProperties = std::map<std::string, std::string, std::less<>>;

// The last of several equal keys counts. kCorrupt for a \u without its four digits; the message
// says name and line.
Result<JavaProperties> parse_java_properties(std::string_view text, const std::string& name);

// A line a property, which parses to the same again.
std::string render_java_properties(const JavaProperties& properties);

}  // namespace offsetfs::storage
