#include "storage/log_creation.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <sys/stat.h>

#include "storage/batch_header.h"
#include "storage/broker_dir.h"
#include "storage/dir_lock.h"
#include "storage/log_dir_owner.h"
#include "storage/log_dir_writer.h"
#include "storage/log_settings.h"
#include "storage/log_writer.h"
#include "storage/partition_metadata.h"
#include "storage/segment_files.h"
#include "storage/write_dir.h"

namespace offsetfs::storage {
namespace {

constexpr const char* kPartitionMetadata = "partition.metadata";
// Stands in a partition's directory from before its first file is made until all that belongs to
// the creation is, the node's files and the log directory's checkpoints too.
constexpr const char* kUnfinishedMark = "offsetfs.unfinished";
constexpr std::size_t kMostTopicChars = 249;
constexpr std::size_t kMostMetadataBytes = 64 << 10;

std::shared_ptr<const IoBackend> plain_io() { return make_io_backend(IoChoice::kPread, nullptr); }

bool is_legal(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

Result<bool> holds_segments(const WriteDir& dir) {
  ASSIGN_OR_RETURN(const auto names, dir.list_files());
  return std::ranges::any_of(names, [](const std::string& name) {
    const auto parsed = parse_segment_file(name);
    return parsed && parsed->file == SegmentFile::kLog;
  });
}

// A segment that was preallocated has zeros where nothing was appended; where something was, the
// first batch's length is no zero.
Result<bool> holds_records(const WriteDir& dir) {
  ASSIGN_OR_RETURN(const auto names, dir.list_files());
  for (const auto& name : names) {
    const auto parsed = parse_segment_file(name);
    if (!parsed || parsed->file != SegmentFile::kLog) continue;
    if (parsed->base_offset != Offset{0}) return true;
    ASSIGN_OR_RETURN(const auto file, dir.open_for_reading(name));
    std::array<char, BatchHeader::kLogOverheadBytes> begin{};
    ASSIGN_OR_RETURN(const std::size_t got, file->read_at(Position{0}, begin));
    if (std::any_of(begin.begin(), begin.begin() + got, [](char c) { return c != 0; })) return true;
  }
  return false;
}

// What a creation that was cut short left is made anew; not what somebody has appended to since.
Result<bool> is_made(const WriteDir& dir) {
  ASSIGN_OR_RETURN(const bool has_segments, holds_segments(dir));
  if (!has_segments || !dir.info(kUnfinishedMark)) return has_segments;
  return holds_records(dir);
}

Result<void> mark_unfinished(WriteDir& dir) {
  ASSIGN_OR_RETURN(const auto mark, dir.open(kUnfinishedMark, WriteDir::Open::kOrCreate));
  return dir.sync_dir();
}

Result<void> mark_finished(WriteDir& dir) {
  RETURN_IF_ERROR(dir.unlink(kUnfinishedMark));
  return dir.sync_dir();
}

// True if it was made, false if it was there.
Result<bool> make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) == 0) return true;
  const int error = errno;
  struct stat st {};
  if (error == EEXIST && ::stat(path.c_str(), &st) == 0) {
    if (S_ISDIR(st.st_mode)) return false;
    return fail(Errc::kInvalid, path + ": no directory; give one, or a name that is free");
  }
  if (error == ENOENT)
    return fail(Errc::kNotFound, path + ": the directory above it is not there; mkdir -p it first");
  return fail_errno(error, path + ": making the directory");
}

std::string parent_of(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<void> sync_directory(const std::string& path) {
  ASSIGN_OR_RETURN(const auto dir, PosixWriteDir::open(path, plain_io()));
  return dir->sync_dir();
}

Result<void> make_log_dir(const std::string& path) {
  ASSIGN_OR_RETURN(const bool is_new, make_directory(path));
  return is_new ? sync_directory(parent_of(path)) : Result<void>{};
}

Result<std::optional<Uuid>> topic_id_in(const WriteDir& partition_dir) {
  auto text = partition_dir.read_whole(kPartitionMetadata, kMostMetadataBytes);
  if (!text && text.error().code == Errc::kNotFound) return std::nullopt;
  if (!text) return fail(std::move(text.error()));
  ASSIGN_OR_RETURN(const auto metadata,
                   parse_partition_metadata(*text, partition_dir.name_of(kPartitionMetadata)));
  return metadata.topic_id;
}

// All partitions of a topic bear one id.
Result<std::optional<Uuid>> topic_id_of_others(const PosixWriteDir& log_dir,
                                               const std::string& topic) {
  ASSIGN_OR_RETURN(const auto names, log_dir.list_directories());
  for (const auto& name : names) {
    const auto parsed = parse_partition_dir(name);
    if (!parsed || parsed->state != DirState::kLive || parsed->topic_partition.topic != topic)
      continue;
    ASSIGN_OR_RETURN(const auto dir, log_dir.open_below(name));
    ASSIGN_OR_RETURN(const auto id, topic_id_in(*dir));
    if (id) return id;
  }
  return std::nullopt;
}

Result<Uuid> choose_topic_id(const NewLog& log, const PosixWriteDir& log_dir) {
  ASSIGN_OR_RETURN(const auto others, topic_id_of_others(log_dir, log.topic_partition.topic));
  if (others && log.topic_id && *others != *log.topic_id)
    return fail(Errc::kInvalid, "--topic-id " + log.topic_id->to_string() + ": " +
                                    log.topic_partition.topic + " has the id " +
                                    others->to_string() + " in " + log.log_dir +
                                    " already, and all its partitions share it; leave --topic-id "
                                    "out");
  if (others) return *others;
  return log.topic_id ? *log.topic_id : random_uuid();
}

Result<LogConfig> config_of(const NewLog& log) {
  ConfigLevels levels;
  levels.topic = log.settings;
  const LogConfig config = resolve_config(levels).log;
  RETURN_IF_ERROR(LogWriter::check_config(config));
  return config;
}

Result<void> check_place(const NewLog& log, const WriteDir& log_dir) {
  ASSIGN_OR_RETURN(const bool is_partition, holds_segments(log_dir));
  if (is_partition)
    return fail(Errc::kInvalid, log.log_dir +
                                    ": holds segments, so it is a partition's directory itself; "
                                    "give the one above it");
  if (log.broker) return check_no_broker_was_started(log_dir);
  return log.force ? Result<void>{} : check_not_a_brokers(log_dir);
}

// A broker that is started on a node takes a log that the node's files don't name for a stray.
Result<bool> is_of_a_node(const NewLog& log, const WriteDir& log_dir) {
  ASSIGN_OR_RETURN(const auto owner, owner_of(log_dir));
  return log.broker || owner == LogDirOwner::kOurs;
}

Result<void> write_log(const NewLog& log, const LogConfig& config, const Uuid& topic_id,
                       std::shared_ptr<WriteDir> dir, std::shared_ptr<LogDirWriter> log_dir) {
  // What a creation that was cut short left there was asked for then, and not now.
  RETURN_IF_ERROR(log.settings.empty()
                      ? dir->unlink_if_there(kLogSettingsFile)
                      : dir->replace(kLogSettingsFile, render_log_settings(log.settings)));
  LogWriter::Options options;
  options.config = config;
  options.topic_id = topic_id;
  ASSIGN_OR_RETURN(const auto writer,
                   LogWriter::open(std::move(dir), log_dir, log.topic_partition, options, nullptr));
  return writer->close();
}

}  // namespace

Result<void> check_topic_name(const std::string& topic) {
  const std::string shown = "topic '" + topic + "': ";
  if (topic.empty() || topic == "." || topic == "..")
    return fail(Errc::kInvalid, shown + "a topic's name is neither empty nor . nor ..");
  if (topic.size() > kMostTopicChars)
    return fail(Errc::kInvalid, shown + "a topic's name has at most 249 characters");
  if (!std::ranges::all_of(topic, is_legal))
    return fail(Errc::kInvalid,
                shown + "a topic's name consists of ASCII letters, digits, '.', '_' and '-'");
  return {};
}

Result<void> make_broker_of(const std::string& log_dir) {
  RETURN_IF_ERROR(make_log_dir(log_dir));
  ASSIGN_OR_RETURN(auto lock, DirLock::acquire(log_dir));
  auto made = make_broker_dir(log_dir);
  lock.release();
  return made;
}

Result<std::string> create_log(const NewLog& log) {
  RETURN_IF_ERROR(check_topic_name(log.topic_partition.topic));
  if (log.topic_partition.partition < 0)
    return fail(Errc::kInvalid, "partition " + std::to_string(log.topic_partition.partition) +
                                    ": partitions are numbered from 0");
  ASSIGN_OR_RETURN(const LogConfig config, config_of(log));

  RETURN_IF_ERROR(make_log_dir(log.log_dir));
  ASSIGN_OR_RETURN(const auto log_dir, PosixWriteDir::open(log.log_dir, plain_io()));
  RETURN_IF_ERROR(check_place(log, *log_dir));
  ASSIGN_OR_RETURN(auto lock, DirLock::acquire(log.log_dir));

  ASSIGN_OR_RETURN(const bool is_of_node, is_of_a_node(log, *log_dir));
  const std::string path = log_dir->name_of(log.topic_partition.to_string());
  ASSIGN_OR_RETURN(const Uuid topic_id, choose_topic_id(log, *log_dir));
  ASSIGN_OR_RETURN(std::shared_ptr<WriteDir> dir,
                   log_dir->open_or_make_below(log.topic_partition.to_string()));
  RETURN_IF_ERROR(log_dir->sync_dir());
  ASSIGN_OR_RETURN(const bool is_there, is_made(*dir));
  if (is_there) {
    lock.release();
    return fail(Errc::kBusy, path + ": is there already; append to it with offsetfs append " +
                                 path + ", or choose another partition");
  }
  RETURN_IF_ERROR(mark_unfinished(*dir));
  ASSIGN_OR_RETURN(auto checkpoints, LogDirWriter::open(log_dir, std::move(lock)));
  RETURN_IF_ERROR(checkpoints->forget(log.topic_partition));
  RETURN_IF_ERROR(write_log(log, config, topic_id, dir, checkpoints));
  if (is_of_node) RETURN_IF_ERROR(make_broker_dir(log.log_dir));
  RETURN_IF_ERROR(checkpoints->close());
  RETURN_IF_ERROR(mark_finished(*dir));
  return path;
}

}  // namespace offsetfs::storage
