#pragma once

#include "storage/result.h"

namespace offsetfs::fs {

// The errno a reader gets for a failure. What it means in words was logged where it was found.
int to_errno(const storage::Error& error);

// Whether a failure is damage or trouble that the log has a line for, rather than an answer: asking
// for what does not exist is nobody's fault.
bool is_worth_a_line(const storage::Error& error);

}  // namespace offsetfs::fs
