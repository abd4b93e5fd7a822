// The house rules that a program can check: mount -> fs -> storage and never back, and inside
// storage each rung includes only the rungs above it in this list.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace offsetfs::tests {
namespace {

using Names = std::vector<std::string>;

struct Rung {
  std::string name;
  Names files;  // without .h or .cc
};

// Ground first. A file of storage/ that stands in no rung fails the test: give it its place.
const std::vector<Rung>& ladder() {
  static const std::vector<Rung> rungs = {
      {"ground",
       {"units", "internal_topics", "topic_partition", "result", "check", "mutex", "unique_fd",
        "problems", "java_number"}},
      {"bytes",
       {"byte_reader", "owned_bytes", "varint", "crc32c", "uuid", "text_lines", "flexible_reader"}},
      {"io",
       {"file", "kernel_file", "pread_file", "pages", "page_cache", "page_window",
        "page_reservations", "rwf", "io_ring", "ring_file", "io_backend", "file_info", "beneath",
        "dir", "inotify", "io_priority", "source_guard", "guarded_file"}},
      {"batch header", {"batch_header", "batch_order"}},  // names the codecs
      {"codecs", {"codec", "codec_output", "gzip", "snappy", "lz4", "zstd"}},
      {"record batch",
       {"record", "control_record", "record_batch", "batch_scanner", "batch_builder"}},
      {"index",
       {"index_file", "offset_index", "time_index", "transaction_index", "checkpoint_file",
        "leader_epochs", "partition_metadata", "producer_snapshot", "java_properties",
        "meta_properties", "offset_checkpoint"}},
      {"segment",
       {"segment_files", "batch_place", "checked_batches", "batch_cache", "segment", "segment_tail",
        "segment_times", "segment_search", "segment_damage", "segment_list", "open_segments",
        "log_window", "active_segment"}},
      {"partition log",
       {"partition_dir", "log_dir_files", "partition_log", "partition_lookup", "partition_snapshot",
        "partition_times", "log_cursor"}},
      {"log dir", {"log_changes", "log_source", "log_dir", "log_watcher"}},
      {"beside", {"log_writer",      "write_dir",        "new_file",
                  "dir_lock",        "index_writer",     "tail_survey",
                  "segment_writer",  "producer_state",   "log_dir_writer",
                  "log_retention",   "deleted_files",    "retention",
                  "log_recovery",    "recovery_report",  "interrupted_compaction",
                  "segment_walk",    "segment_end",      "log_config",
                  "metadata_record", "cluster_metadata", "settings",
                  "removable",       "producer_replay"}},
      {"logs of our own",
       {"log_settings", "log_dir_owner", "log_creation", "bootstrap_checkpoint", "broker_dir",
        "key_offsets", "compaction_plan", "cleaned_transactions", "compaction_filter",
        "log_compaction"}},
  };
  return rungs;
}

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::filesystem::path> sources(const std::string& room) {
  std::vector<std::filesystem::path> found;
  const auto folder = std::filesystem::path(OFFSETFS_SOURCES) / room;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".h" || entry.path().extension() == ".cc")
      found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

struct Include {
  std::string room, file;  // "storage", "units"
};

// The lines `#include "room/file.h"` of a source.
std::vector<Include> includes(const std::filesystem::path& path) {
  static const std::string opening = "#include \"";
  std::vector<Include> found;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const auto slash = line.find('/', opening.size());
    if (!line.starts_with(opening) || !line.ends_with(".h\"") || slash == std::string::npos)
      continue;
    found.push_back({line.substr(opening.size(), slash - opening.size()),
                     line.substr(slash + 1, line.size() - slash - 4)});
  }
  return found;
}

int rung_of(const std::string& file) {
  for (std::size_t i = 0; i < ladder().size(); ++i)
    if (std::ranges::find(ladder()[i].files, file) != ladder()[i].files.end())
      return static_cast<int>(i);
  return -1;
}

TEST(Layering, RoomsIncludeOnlyWhatLiesBelowThem) {
  const std::map<std::string, std::set<std::string>> allowed = {
      {"storage", {"storage"}}, {"fs", {"fs", "storage"}}, {"mount", {"mount", "fs", "storage"}}};
  for (const auto& [room, below] : allowed)
    for (const auto& path : sources(room))
      for (const Include& include : includes(path))
        EXPECT_TRUE(below.contains(include.room))
            << path << " includes " << include.room << "/" << include.file << ".h, but " << room
            << " may not know " << include.room;
}

TEST(Layering, StorageIncludesOnlyTowardsTheGround) {
  for (const auto& path : sources("storage")) {
    const int own = rung_of(path.stem());
    EXPECT_GE(own, 0) << path << " has no place on the ladder in tests/layering_test.cc";
    for (const Include& include : includes(path)) {
      const int other = rung_of(include.file);
      if (own < 0 || other < 0) continue;
      EXPECT_LE(other, own) << path << " (" << ladder()[own].name << ") includes " << include.file
                            << ".h (" << ladder()[other].name << "), which lies above it";
    }
  }
}

TEST(Layering, OnlyTheFuseEdgeKnowsLibfuse) {
  for (const std::string room : {"storage", "fs", "mount"})
    for (const auto& path : sources(room)) {
      const bool edge = room == "mount" || path.stem().string().starts_with("fuse_");
      if (edge) continue;
      EXPECT_EQ(read(path).find("#include <fuse"), std::string::npos) << path;
    }
}

// Nothing in a source is ever changed, but by what `create`, `append` and -o append ask for. Three
// fences, from the ground up: the calls of the kernel that change a directory stand in few files;
// what uses those is known to few; and a mount comes to them in one place only.
TEST(Layering, OnlyWhatWritesLogsCanChangeASource) {
  // With a blank or bracket before them: WriteDir::unlink() is none of these. What is open for
  // reading alone can't be written to.
  const std::regex changes(
      R"(\bO_(CREAT|WRONLY|RDWR|TRUNC)\b|\bofstream\b|\bfopen\b|)"
      R"([ (!]::(rename|unlink|mkdir|rmdir|link|symlink|chmod|fchmod|truncate|fallocate|utimen))");
  const std::set<std::string> may_change = {"dir_lock", "log_creation", "new_file", "write_dir"};
  for (const auto& path : sources("storage")) {
    std::smatch call;
    const std::string text = read(path);
    EXPECT_TRUE(may_change.contains(path.stem()) || !std::regex_search(text, call, changes))
        << path << " has " << call.str();
  }

  const std::set<std::string> writing = {
      "write_dir",     "segment_writer", "index_writer",           "log_writer",   "log_dir_writer",
      "log_retention", "log_recovery",   "interrupted_compaction", "segment_walk", "segment_end",
      "log_creation",  "dir_lock",       "log_compaction",         "new_file"};
  const std::set<std::string> may_write = {"fs/written_log", "fs/written_logs", "mount/create"};
  for (const std::string room : {"fs", "mount"})
    for (const auto& path : sources(room))
      for (const Include& include : includes(path))
        EXPECT_TRUE(!writing.contains(include.file) ||
                    may_write.contains(room + "/" + path.stem().string()))
            << path << " includes " << include.file << ".h";
}

// `for (x : *log.segments())`: the pointer that holds the segments is gone before the first turn.
TEST(Lifetimes, NoLoopRunsOverWhatATemporaryPointerHolds) {
  const std::regex dangling(R"(for \([^;()]* : \*[^;=]*\(\)\))");
  for (const std::string room :
       {"storage", "fs", "mount", "tests/storage", "tests/fs", "tests/fixtures", "tests/support"})
    for (const auto& path : sources(room)) {
      std::smatch loop;
      const std::string text = read(path);
      EXPECT_FALSE(std::regex_search(text, loop, dangling)) << path << " has " << loop.str();
    }
}

TEST(Layering, AMountComesToWriteInOnePlaceAndTheCommandInAnother) {
  std::map<std::string, int> places;
  for (const std::string room : {"fs", "mount"})
    for (const auto& path : sources(room)) {
      const std::string text = read(path);
      for (std::size_t at = 0; (at = text.find("WrittenLogs::open(", at)) != std::string::npos;
           ++at)
        if (path.stem() != "written_logs") ++places[path.filename()];
    }
  EXPECT_EQ(places, (std::map<std::string, int>{{"run.cc", 1}, {"append.cc", 1}}));
  const std::string run = read(std::filesystem::path(OFFSETFS_SOURCES) / "mount/run.cc");
  EXPECT_NE(
      run.find("if (options.append) {\n    ASSIGN_OR_RETURN(standing.written, open_to_write("),
      std::string::npos);
}

TEST(Layering, NoRoomIsNamedAfterNothing) {
  for (const std::string room : {"storage", "fs", "mount"})
    for (const auto& path : sources(room))
      for (const std::string vague : {"util", "utils", "common", "types", "helpers", "misc"})
        EXPECT_NE(path.stem(), vague) << path;
}

}  // namespace
}  // namespace offsetfs::tests
