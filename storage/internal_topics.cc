#include "storage/internal_topics.h"

#include <algorithm>
#include <iterator>

namespace offsetfs::storage {

bool is_internal_topic(std::string_view topic) {
  static constexpr std::string_view kTopics[] = {"__cluster_metadata", "__consumer_offsets",
                                                 "__transaction_state", "__share_group_state",
                                                 "__remote_log_metadata"};
  return std::ranges::find(kTopics, topic) != std::end(kTopics);
}

}  // namespace offsetfs::storage
