#pragma once

#include <string_view>

namespace offsetfs::storage {

// A topic of Kafka's own: its content is a broker's business, and its log is never tiered.
// Source: Kafka's Topic.INTERNAL_TOPICS, with the topics of KRaft and of tiered storage.
bool is_internal_topic(std::string_view topic);

}  // namespace offsetfs::storage
