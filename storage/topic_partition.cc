#include "storage/topic_partition.h"

#include <algorithm>
#include <array>
#include <utility>

#include "storage/java_number.h"

namespace offsetfs::storage {
namespace {

constexpr std::size_t kMostTopicChars = 249;
constexpr std::size_t kUniqueIdChars = 32;

constexpr std::array<std::pair<std::string_view, DirState>, 3> kStates = {{
    {"-delete", DirState::kDelete},
    {"-stray", DirState::kStray},
    {"-future", DirState::kFuture},
}};

bool is_alnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// What a broker lets a topic be called; a directory with another name was made by no broker.
bool is_legal_topic(std::string_view topic) {
  if (topic.empty() || topic.size() > kMostTopicChars || topic == "." || topic == "..") {
    return false;
  }
  return std::all_of(topic.begin(), topic.end(),
                     [](char c) { return is_alnum(c) || c == '.' || c == '_' || c == '-'; });
}

std::optional<TopicPartition> parse_topic_partition(std::string_view text) {
  const auto dash = text.rfind('-');
  if (dash == std::string_view::npos || !is_legal_topic(text.substr(0, dash))) return std::nullopt;
  const auto partition = parse_java_int(text.substr(dash + 1));
  if (!partition) return std::nullopt;
  return TopicPartition{std::string(text.substr(0, dash)), *partition};
}

}  // namespace

std::optional<PartitionDirName> parse_partition_dir(std::string_view name) {
  PartitionDirName parsed;
  for (const auto& [suffix, state] : kStates) {
    if (!name.ends_with(suffix)) continue;
    name.remove_suffix(suffix.size());
    const auto dot = name.rfind('.');
    if (dot == std::string_view::npos) return std::nullopt;
    const auto id = name.substr(dot + 1);
    if (id.size() != kUniqueIdChars || !std::all_of(id.begin(), id.end(), is_hex)) {
      return std::nullopt;
    }
    name = name.substr(0, dot);
    parsed.state = state;
    break;
  }
  auto topic_partition = parse_topic_partition(name);
  if (!topic_partition) return std::nullopt;
  parsed.topic_partition = std::move(*topic_partition);
  return parsed;
}

}  // namespace offsetfs::storage
