#pragma once

#include <map>
#include <string>
#include <string_view>

namespace offsetfs::storage {

// The text of a Java properties file: server.properties, meta.properties.
//
//   file    := { comment | entry }
//   comment := blanks ("#" | "!") anything
//   entry   := blanks key blanks [ "=" | ":" ] blanks value
//
// A line that ends in an odd number of backslashes goes on in the next one, whose leading blanks
// are dropped. In keys and values \t \n \r \f and \uXXXX are what they say, and a backslash before
// any other character is dropped. Of a key given twice the last one holds. Every text is a
// properties file: there is nothing to refuse. Source: java.util.Properties.load.
std::map<std::string, std::string, std::less<>> parse_java_properties(std::string_view text);

}  // namespace offsetfs::storage
