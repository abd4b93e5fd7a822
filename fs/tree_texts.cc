#include "fs/tree_texts.h"

#include "fs/json_object.h"

namespace offsetfs::fs {

bool is_tree_text(NodeKind kind) {
  switch (kind) {
    case NodeKind::kReadme:
    case NodeKind::kStats:
    case NodeKind::kProblems:
    case NodeKind::kCacheDirTag: return true;
    default: return false;
  }
}

std::string stats_text(const Stats& stats, const storage::LogSource& source, const Streams& streams,
                       const Followers& followers) {
  std::string text = stats.text();
  const Streams::Counters counters = streams.counters();
  add_stat(text, "scans", counters.scans);
  add_stat(text, "scanned_bytes", counters.scanned_bytes);
  add_stat(text, "stream_batches_decoded", counters.batches_decoded);
  add_stat(text, "resume_points_bytes", counters.resume_points_bytes);
  add_stat(text, "stream_batches_bytes", counters.batches_bytes);
  const Followers::Counters following = followers.counters();
  add_stat(text, "followers", static_cast<std::uint64_t>(following.followers));
  add_stat(text, "followers_waiting", static_cast<std::uint64_t>(following.waiting));
  add_stat(text, "follow_chunks_bytes", following.chunks_bytes);
  add_stat(text, "follow_missed_offsets", following.missed_offsets);
  add_stat(text, "partitions", source.partitions()->size());
  add_stat(text, "problems", source.problems().count());
  text.append("io ").append(source.dirs().front()->io()->kind()).push_back('\n');
  text.append("watching ").append(source.changes().manner()).push_back('\n');
  return text;
}

std::string problem_lines(const storage::Problems& problems, const std::string& below) {
  std::string text;
  for (const storage::Problem& problem : problems.list()) {
    if (!problem.file.starts_with(below)) continue;
    JsonObject line;
    line.text("file", problem.file);
    if (problem.position >= 0) {
      line.number("position", problem.position);
    } else {
      line.null("position");
    }
    text += line.text("what", problem.what).take() + "\n";
  }
  return text;
}

}  // namespace offsetfs::fs
