#pragma once

#include <string>

#include "storage/result.h"
#include "storage/unique_fd.h"

namespace offsetfs::storage {

// Files and directories made in a directory that may be another user's. What root makes there
// belongs to the directory's owner, so that its broker can open it; what it finds there it neither
// empties nor gives away: a name may be a hard link to a file that is not that owner's. `dir`: a
// descriptor of the directory; `shown`: the whole name, for messages. kIo.

// Makes an empty file and opens it for reading and writing. EEXIST if the name is taken.
Result<UniqueFd> make_file(int dir, const std::string& name, const std::string& shown);
// The same, or opens what is there; a symbolic link is not followed.
Result<UniqueFd> open_or_make_file(int dir, const std::string& name, const std::string& shown);
// Makes a directory, or takes the one that is there, and opens it. kInvalid: something else bears
// the name, a symbolic link to a directory included.
Result<UniqueFd> open_or_make_directory(int dir, const std::string& name, const std::string& shown);
// Opens one that is there; kNotFound, kInvalid likewise.
Result<UniqueFd> open_directory(int dir, const std::string& name, const std::string& shown);

}  // namespace offsetfs::storage
