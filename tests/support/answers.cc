#include "tests/support/answers.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

namespace offsetfs::tests {
namespace {

using nlohmann::json;

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "fixtures: %s\n", what.c_str());
  std::abort();
}

std::string folder(const std::string& fixture) {
  return std::string(OFFSETFS_FIXTURES) + "/expected/" + fixture;
}

std::ifstream open(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) give_up("no such file: " + path);
  return in;
}

std::string decode_base64(const std::string& text) {
  static const std::string digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    const auto digit = digits.find(c);
    if (digit == std::string::npos) give_up("not base64: " + text);
    bits = bits << 6 | static_cast<unsigned>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count & 0xff));
  }
  return bytes;
}

std::optional<std::string> bytes_of(const json& value) {
  if (value.is_null()) return std::nullopt;
  if (value.is_string()) return value.get<std::string>();
  return decode_base64(value.at("base64").get<std::string>());
}

template <class Visit>
void each_line(const std::string& path, Visit visit) {
  std::ifstream in = open(path);
  for (std::string line; std::getline(in, line);) visit(line);
}

AnswerRecord record_of(const json& object) {
  AnswerRecord record;
  record.offset = object.at("offset");
  record.timestamp = object.at("ts");
  record.timestamp_type = object.at("tstype");
  record.key = bytes_of(object.at("key"));
  record.value = bytes_of(object.at("value"));
  for (const json& header : object.at("headers"))
    record.headers.push_back({bytes_of(header.at(0)).value(), bytes_of(header.at(1))});
  return record;
}

std::vector<AnswerRecord> records_of(const std::string& path) {
  std::vector<AnswerRecord> records;
  each_line(path,
            [&](const std::string& line) { records.push_back(record_of(json::parse(line))); });
  return records;
}

std::optional<std::int64_t> number_of(const json& value) {
  if (value.is_null()) return std::nullopt;
  return value.get<std::int64_t>();
}

// "baseOffset: 0 lastOffset: 14 ..."; a value may hold no blank.
DumpLine dump_line(const std::string& text) {
  DumpLine line;
  std::istringstream words(text);
  std::string name;
  std::string value;
  while (words >> name >> value) {
    if (!name.ends_with(':')) return {};
    name.pop_back();
    line[name] = value;
  }
  return line;
}

std::string shortened(const std::optional<std::string>& bytes) {
  if (!bytes) return "null";
  if (bytes->size() <= 60) return "\"" + *bytes + "\"";
  return "\"" + bytes->substr(0, 60) + "...\" (" + std::to_string(bytes->size()) + " bytes)";
}

}  // namespace

void PrintTo(const AnswerRecord& record, std::ostream* out) {
  *out << "record " << record.offset << " at " << record.timestamp << " " << record.timestamp_type
       << " key " << shortened(record.key) << " value " << shortened(record.value) << " headers "
       << record.headers.size();
}

std::string fixture_log_dir(const std::string& fixture) {
  return std::string(OFFSETFS_FIXTURES) + "/logs/" + fixture;
}

std::vector<std::string> answered_topics(const std::string& fixture) {
  static const std::string ending = ".records.jsonl";
  std::vector<std::string> topics;
  for (const auto& entry : std::filesystem::directory_iterator(folder(fixture))) {
    const std::string name = entry.path().filename();
    if (name.ends_with(ending)) topics.push_back(name.substr(0, name.size() - ending.size()));
  }
  std::ranges::sort(topics);
  return topics;
}

std::vector<AnswerRecord> answer_records(const std::string& fixture, const std::string& topic) {
  return records_of(folder(fixture) + "/" + topic + ".records.jsonl");
}

std::vector<AnswerRecord> answer_committed(const std::string& fixture, const std::string& topic) {
  return records_of(folder(fixture) + "/" + topic + ".committed.jsonl");
}

std::optional<AnswerOffsets> answer_offsets(const std::string& fixture, const std::string& topic) {
  const std::string path = folder(fixture) + "/" + topic + ".offsets.json";
  if (!std::filesystem::exists(path)) return std::nullopt;
  std::ifstream in = open(path);
  const json object = json::parse(in);
  return AnswerOffsets{object.at("earliest"), object.at("latest"), object.at("max_timestamp")};
}

std::vector<AnswerTime> answer_times(const std::string& fixture, const std::string& topic) {
  std::vector<AnswerTime> times;
  each_line(folder(fixture) + "/" + topic + ".times.jsonl", [&](const std::string& line) {
    const json object = json::parse(line);
    times.push_back({object.at("ts"), number_of(object.at("kafka")), number_of(object.at("link"))});
  });
  return times;
}

std::vector<std::string> answer_kcat(const std::string& fixture, const std::string& topic) {
  std::vector<std::string> lines;
  const std::string path = folder(fixture) + "/" + topic + ".kcat.jsonl";
  if (!std::filesystem::exists(path)) return lines;
  each_line(path, [&](const std::string& line) { lines.push_back(line + "\n"); });
  return lines;
}

std::vector<Dump> answer_dumps(const std::string& fixture, const std::string& extension) {
  const std::string ending = extension + ".dump";
  std::vector<Dump> dumps;
  for (const auto& entry : std::filesystem::directory_iterator(folder(fixture))) {
    const std::string name = entry.path().filename();
    if (!name.ends_with(ending)) continue;
    const auto plus = name.find('+');
    Dump dump{name.substr(0, plus), name.substr(plus + 1, name.size() - plus - 6), {}};
    each_line(entry.path(), [&](const std::string& line) {
      if (line.starts_with("Log starting offset:")) return;
      if (DumpLine parsed = dump_line(line); !parsed.empty()) dump.lines.push_back(parsed);
    });
    dumps.push_back(std::move(dump));
  }
  std::ranges::sort(dumps, {}, [](const Dump& d) { return d.partition_dir + d.file; });
  return dumps;
}

}  // namespace offsetfs::tests
