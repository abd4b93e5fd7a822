#pragma once

#include "storage/result.h"

namespace offsetfs::fs {

// The errno a reader gets for a failure. What it means in words was logged where it was found.
int to_errno(const storage::Error& error);

// Whether a failure must still be told to the log. Damage has been: whoever met it named it among the
// source's problems, each once. What is not there is nobody's failure, nor is an interrupt.
bool is_worth_a_line(const storage::Error& error);

}  // namespace offsetfs::fs
