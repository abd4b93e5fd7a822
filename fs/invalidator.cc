#include "fs/invalidator.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "fs/segment_texts.h"

namespace offsetfs::fs {

using Kind = storage::LogChanges::Change::Kind;

Invalidator::Invalidator(const storage::LogSource& source, const Partitions& partitions,
                         const NodeTable& nodes, ToldNames& told,
                         std::unique_ptr<KernelCaches> caches)
    : partitions_(partitions), nodes_(nodes), told_(told), caches_(std::move(caches)) {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  subscription_ = source.changes().subscribe(
      std::nullopt, [this](const storage::LogChanges::Change& change) { on_change(change); });
}

void Invalidator::stop() {
  subscription_.end();
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void Invalidator::on_change(const storage::LogChanges::Change& change) {
  if (change.kind == Kind::kAppended) return;
  const std::lock_guard lock(mutex_);
  if (change.kind == Kind::kPartitions) {
    pending_listing_ = true;
  } else {
    pending_partitions_.insert(change.partition);
  }
  pending_.notify_one();
}

void Invalidator::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::set<std::uint32_t> partitions;
    bool listing = false;
    {
      std::unique_lock lock(mutex_);
      const auto is_pending = [this] { return pending_listing_ || !pending_partitions_.empty(); };
      if (!pending_.wait(lock, stop, is_pending)) return;
      partitions.swap(pending_partitions_);
      listing = std::exchange(pending_listing_, false);
    }
    if (listing) look_at_partitions();
    for (const std::uint32_t partition : partitions) {
      if (stop.stop_requested()) return;
      look_at(partition);
    }
  }
}

// Names of the root that lead to another partition now, or nowhere.
void Invalidator::look_at_partitions() {
  for (const auto& [name, node] : told_.partitions()) {
    const auto now = partitions_.find(name);
    if (now && now->id == node.partition) continue;
    told_.remove(node, name);
    caches_->forget_name(kRootId, name);
    const auto all = partitions_.all();
    const bool lives = std::ranges::any_of(
        *all, [id = node.partition](const auto& partition) { return partition.id == id; });
    if (lives) continue;
    told_.remove_segments_of(node.partition);
    known_.erase(node.partition);
  }
  caches_->forget_attributes(kRootId);
}

void Invalidator::look_at(std::uint32_t partition) {
  const auto view = partitions_.view(partition);
  if (!view) return;  // the listing says so
  const storage::PartitionLog& log = *(*view)->log;
  const bool is_first = !known_.contains(partition);
  Known& known = known_[partition];
  Known now;
  now.losses = log.losses();
  if (const auto active = (*view)->active_segment()) now.active_base_offset = active->base_offset;
  now.log_start_offset = log.log_start_offset();
  const Known before = std::exchange(known, now);
  // Each name below offsets/ would have to be known otherwise. They are few, or soon told again.
  if (is_first || before.losses != now.losses) (*view)->access.forget();
  if (is_first || before.losses != now.losses || before.log_start_offset != now.log_start_offset)
    caches_->forget_name(number_of(NodeKind::kPartition, partition), "offsets");
  take_back_segments(**view);
  // Sealed once, and growing again: the log was truncated.
  const bool fell_back = before.active_base_offset && now.active_base_offset &&
                         *now.active_base_offset < *before.active_base_offset;
  for (const auto& [name, node] : told_.segments_of(partition)) {
    if (!fell_back && before.losses == now.losses) break;
    const bool is_growing = fell_back && node.number == now.active_base_offset->value;
    for (const std::uint64_t stream : streams_of(node))
      is_growing ? caches_->forget_content(stream) : caches_->forget_attributes(stream);
  }
  for (const NodeKind kind : {NodeKind::kPartition, NodeKind::kOffsets, NodeKind::kSegments,
                              NodeKind::kTime, NodeKind::kSeek, NodeKind::kState})
    caches_->forget_attributes(number_of(kind, partition));
}

// Names in segments/ whose files are gone, or other files now.
void Invalidator::take_back_segments(const PartitionView& view) {
  for (const auto& [name, node] : told_.segments_of(view.id)) {
    if (segment_entry(view, node)) continue;
    told_.remove(node, name);
    caches_->forget_name(number_of(NodeKind::kSegments, view.id), name);
  }
}

// The numbers of the streams of a segment, as far as they have one without a lookup.
std::vector<std::uint64_t> Invalidator::streams_of(const Node& segment) const {
  std::vector<std::uint64_t> numbers;
  const auto add = [&](NodeKind kind, Form form) {
    Node stream = segment;
    stream.kind = kind;
    stream.form = form;
    const std::uint64_t number = nodes_.number_of(stream);
    if (number != NodeTable::kUnknownId) numbers.push_back(number);
  };
  for (const Form form : {Form::kJsonl, Form::kValues, Form::kKeys, Form::kTsv})
    add(NodeKind::kSegmentStream, form);
  add(NodeKind::kSegmentBatches, Form::kRaw);
  return numbers;
}

std::uint64_t Invalidator::number_of(NodeKind kind, std::uint32_t partition) const {
  Node node;
  node.kind = kind;
  node.partition = partition;
  return nodes_.number_of(node);
}

}  // namespace offsetfs::fs
