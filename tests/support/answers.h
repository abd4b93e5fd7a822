#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

// What Kafka's own consumer and tools said of the fixtures: tests/data/README.md tells how they
// were asked. Every function aborts the test with a message if the file isn't there.

namespace offsetfs::tests {

// One of "clean", "live", "killed", "v0", "v1", "v1v2".
std::string fixture_log_dir(const std::string& fixture);

struct AnswerHeader {
  std::string key;
  std::optional<std::string> value;
  friend bool operator==(const AnswerHeader&, const AnswerHeader&) = default;
};

struct AnswerRecord {
  std::int64_t offset = 0;
  std::int64_t timestamp = 0;
  std::string timestamp_type;  // "CreateTime", "LogAppendTime", "NoTimestampType"
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::vector<AnswerHeader> headers;
  friend bool operator==(const AnswerRecord&, const AnswerRecord&) = default;
};
void PrintTo(const AnswerRecord& record, std::ostream* out);

// Topics that have answers, in order.
std::vector<std::string> answered_topics(const std::string& fixture);

std::vector<AnswerRecord> answer_records(const std::string& fixture, const std::string& topic);
// Under read_committed; topic "txn" only.
std::vector<AnswerRecord> answer_committed(const std::string& fixture, const std::string& topic);

struct AnswerOffsets {
  std::int64_t earliest = 0;
  std::int64_t latest = 0;
  std::int64_t max_timestamp = 0;  // the offset of the record with the largest timestamp; -1 = none
};
std::optional<AnswerOffsets> answer_offsets(const std::string& fixture, const std::string& topic);

struct AnswerTime {
  std::int64_t timestamp = 0;
  std::optional<std::int64_t> kafka;  // offsetsForTimes
  std::optional<std::int64_t> link;   // the first record a consumer reads from there
};
std::vector<AnswerTime> answer_times(const std::string& fixture, const std::string& topic);

// kcat's lines, each with its newline; empty where kcat was not asked.
std::vector<std::string> answer_kcat(const std::string& fixture, const std::string& topic);

// kafka-dump-log's lines of one file, as name -> value: {"baseOffset": "0", "crc": "2618903941"}.
using DumpLine = std::map<std::string, std::string>;
struct Dump {
  std::string partition_dir;  // "txn-0"
  std::string file;           // "00000000000000000011.txnindex"
  std::vector<DumpLine> lines;
};
std::vector<Dump> answer_dumps(const std::string& fixture, const std::string& extension);

}  // namespace offsetfs::tests
