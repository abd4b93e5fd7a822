#pragma once

#include <string>

#include "fs/retention_report.h"

namespace offsetfs::fs {

// retention/timeline.svg: a row a segment, a bar from its first to its largest timestamp, the edge
// of retention.ms and the clock as lines, and on the right when it goes and what holds it. Readable
// on dark and light backgrounds (it follows prefers-color-scheme). Of a log with very many segments
// the oldest and the newest are drawn, and a row says what is between.
std::string render_timeline_svg(const RetentionReport& report);

}  // namespace offsetfs::fs
