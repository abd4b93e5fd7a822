#pragma once

#include <string>
#include <string_view>

#include "fs/retention_report.h"

namespace offsetfs::fs {

// The files of retention/, each a view of one report. Columns and keys are only ever added.

std::string render_retention_status_tsv(const RetentionReport& report);
std::string render_retention_status_json(const RetentionReport& report);
std::string render_retention_policy_tsv(const RetentionReport& report);
std::string render_retention_policy_json(const RetentionReport& report);
// `key: value` lines: the segment that goes next, when, and the offsets that go with it; or why
// none does.
std::string render_retention_next(const RetentionReport& report);

// A field of a table: tab, newline, return and backslash as \t \n \r \\, other controls as '?'.
std::string escape_field(std::string_view text);

// A moment for a person: RFC 3339; "never"; plain milliseconds where no calendar reaches.
std::string render_moment(storage::TimestampMs moment);

}  // namespace offsetfs::fs
