#pragma once

#include <sys/stat.h>

#include "fs/node.h"

namespace offsetfs::fs {

// What a node is to the kernel: a directory, a link or a file.
constexpr mode_t file_type_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::kRoot:
    case NodeKind::kTopics:
    case NodeKind::kTopic:
    case NodeKind::kPartition:
    case NodeKind::kOffsets:
    case NodeKind::kSeek:
    case NodeKind::kTime:
    case NodeKind::kFollow:
    case NodeKind::kSegments:
    case NodeKind::kState:
    case NodeKind::kRetention:
    case NodeKind::kExpired:
    case NodeKind::kDeleting:
    case NodeKind::kWhatIf:
    case NodeKind::kBrokerRetention:
    case NodeKind::kSegment: return S_IFDIR;
    case NodeKind::kTopicPartition:
    case NodeKind::kSeekLink:
    case NodeKind::kFirstLink:
    case NodeKind::kLastLink:
    case NodeKind::kTimeLink:
    case NodeKind::kExpiredLink:
    case NodeKind::kDeletingLink:
    case NodeKind::kActiveLink: return S_IFLNK;
    default: return S_IFREG;
  }
}

}  // namespace offsetfs::fs
