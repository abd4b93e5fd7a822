#include "fs/node_id.h"

#include <array>
#include <cstddef>
#include <iterator>

namespace offsetfs::fs {
namespace {

constexpr int kPartitionShift = 42;
constexpr std::uint64_t kNumberMask = (std::uint64_t{1} << kPartitionShift) - 1;
constexpr std::uint64_t kPartitionMask =
    (std::uint64_t{1} << (kNodeCodeShift - kPartitionShift)) - 1;
constexpr std::size_t kCodes = 64;

struct KindForm {
  NodeKind kind;
  Form form = Form::kRaw;
};

// The place in this list, counted from 1, is the code: new rows go to its end.
constexpr KindForm kKindForms[] = {
    {NodeKind::kRecord},
    {NodeKind::kRecord, Form::kJson},
    {NodeKind::kRecord, Form::kKey},
    {NodeKind::kRecord, Form::kLookup},
    {NodeKind::kSeekLink},
    {NodeKind::kSeekLink, Form::kJson},
    {NodeKind::kFirstLink},
    {NodeKind::kFirstLink, Form::kJson},
    {NodeKind::kLastLink},
    {NodeKind::kLastLink, Form::kJson},
    {NodeKind::kActiveLink},
    {NodeKind::kRoot},
    {NodeKind::kTopics},
    {NodeKind::kPartition},
    {NodeKind::kOffsets},
    {NodeKind::kSeek},
    {NodeKind::kTime},
    {NodeKind::kSegments},
    {NodeKind::kState},
    {NodeKind::kSegment},
    {NodeKind::kSegmentStream, Form::kJsonl},
    {NodeKind::kSegmentStream, Form::kValues},
    {NodeKind::kSegmentStream, Form::kKeys},
    {NodeKind::kSegmentStream, Form::kTsv},
    {NodeKind::kSegmentBatches},
    {NodeKind::kSegmentOffsetIndex},
    {NodeKind::kSegmentTimeIndex},
    {NodeKind::kSegmentTransactionIndex},
    {NodeKind::kSegmentProducers},
    {NodeKind::kSegmentInfo},
    {NodeKind::kSegmentDamage},
    {NodeKind::kPartitionStream, Form::kJsonl},
    {NodeKind::kPartitionStream, Form::kValues},
    {NodeKind::kPartitionStream, Form::kKeys},
    {NodeKind::kPartitionStream, Form::kTsv},
    {NodeKind::kStateFile},
    {NodeKind::kReadme},
    {NodeKind::kStats},
    {NodeKind::kProblems},
    {NodeKind::kCacheDirTag},
    {NodeKind::kRetention},
    {NodeKind::kRetentionFile},
    {NodeKind::kExpired},
    {NodeKind::kExpiredLink},
    {NodeKind::kDeleting},
    {NodeKind::kDeletingLink},
    {NodeKind::kDeletingStatus},
    {NodeKind::kWhatIf},
    {NodeKind::kBrokerRetention},
    {NodeKind::kBrokerRetentionFile},
    {NodeKind::kFollow},
    {NodeKind::kAppend},
    {NodeKind::kAppend, Form::kJsonl},
};
static_assert(std::size(kKindForms) < kCodes);

constexpr std::size_t kForms = 8;
static_assert(static_cast<std::size_t>(Form::kTsv) < kForms);

constexpr auto kCodeOf = [] {
  std::array<std::uint8_t, 256 * kForms> codes{};
  for (std::size_t i = 0; i < std::size(kKindForms); ++i) {
    codes[static_cast<std::size_t>(kKindForms[i].kind) * kForms +
          static_cast<std::size_t>(kKindForms[i].form)] = static_cast<std::uint8_t>(i + 1);
  }
  return codes;
}();

std::uint64_t code_of(const Node& node) {
  return kCodeOf[static_cast<std::size_t>(node.kind) * kForms +
                 static_cast<std::size_t>(node.form)];
}

}  // namespace

std::optional<std::uint64_t> pack_node(const Node& node) {
  const std::uint64_t code = code_of(node);
  const bool has_partition = node.partition != Node::kNoPartition;
  if (code == 0 || node.suffix != 0 || node.generation != 0 || !node.text.empty())
    return std::nullopt;
  if (has_partition && node.partition >= kPartitionMask) return std::nullopt;
  const auto number = static_cast<std::uint64_t>(node.number);  // a negative one is too large
  if (number > kNumberMask) return std::nullopt;
  const std::uint64_t partition = has_partition ? node.partition : kPartitionMask;
  return code << kNodeCodeShift | partition << kPartitionShift | number;
}

std::optional<Node> unpack_node(std::uint64_t id) {
  const std::uint64_t code = id >> kNodeCodeShift;
  if (code == 0 || code > std::size(kKindForms)) return std::nullopt;
  const std::uint64_t partition = id >> kPartitionShift & kPartitionMask;
  Node node;
  node.kind = kKindForms[code - 1].kind;
  node.form = kKindForms[code - 1].form;
  if (partition != kPartitionMask) node.partition = static_cast<std::uint32_t>(partition);
  node.number = static_cast<std::int64_t>(id & kNumberMask);
  return node;
}

}  // namespace offsetfs::fs
