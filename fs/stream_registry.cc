#include "fs/stream_registry.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace offsetfs::fs {

using storage::MutexLock;

std::size_t StreamRegistry::Hash::operator()(const Node& node) const noexcept {
  const std::uint64_t parts = static_cast<std::uint64_t>(node.kind) << 56 ^
                              static_cast<std::uint64_t>(node.form) << 48 ^
                              static_cast<std::uint64_t>(node.suffix) << 40 ^
                              static_cast<std::uint64_t>(node.partition) << 8;
  return std::hash<std::uint64_t>{}((parts ^ static_cast<std::uint64_t>(node.number)) *
                                    0x9e3779b97f4a7c15U) ^
         std::hash<std::string>{}(node.text);
}

namespace {

Node of_any_generation(Node node) {
  node.generation = 0;
  return node;
}

}  // namespace

std::shared_ptr<SegmentStream> StreamRegistry::find_or_make(const Node& node,
                                                            const storage::FileInfo& file,
                                                            const Make& make) {
  MutexLock lock(mutex_);
  Entry& entry = entries_[of_any_generation(node)];
  if (!entry.is_of(node, file)) {
    if (entry.stream) --streams_;
    // Another generation is another node, of which the kernel knows nothing yet.
    const bool same_node = entry.node_generation == node.generation;
    const bool was_other = same_node && (entry.was_other || entry.ino != 0);
    entry = {};
    entry.was_other = was_other;
    entry.node_generation = node.generation;
    entry.dev = file.dev;
    entry.ino = file.ino;
  }
  if (!entry.stream) {
    entry.stream = make();
    ++streams_;
  }
  entry.used = ++clock_;
  return entry.stream;
}

std::shared_ptr<SegmentStream> StreamRegistry::find(
    const Node& node, const storage::FileInfo& file,
    std::optional<std::int64_t>& sealed_bytes) const {
  MutexLock lock(mutex_);
  const auto found = entries_.find(of_any_generation(node));
  if (found == entries_.end() || !found->second.is_of(node, file)) return nullptr;
  sealed_bytes = found->second.sealed_bytes;
  return found->second.stream;
}

StreamRegistry::Before StreamRegistry::opened(const Node& node, const SegmentStream::State& state,
                                              bool sealed) {
  MutexLock lock(mutex_);
  const auto found = entries_.find(of_any_generation(node));
  if (found == entries_.end()) return Before::kNothing;
  // One that was replaced while it was measured.
  if (found->second.node_generation != node.generation) return Before::kOther;
  Entry& entry = found->second;
  if (sealed) entry.sealed_bytes = state.size_bytes;
  if (state.generation != 0) entry.was_other = true;
  const bool was_open = entry.generation.has_value();
  entry.generation = state.generation;
  if (entry.was_other) return Before::kOther;
  return was_open ? Before::kSame : Before::kNothing;
}

StreamRegistry::Entries::iterator StreamRegistry::longest_unused(bool open) {
  auto longest = entries_.end();
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (!entry->second.stream || entry->second.is_open() != open) continue;
    if (longest == entries_.end() || entry->second.used < longest->second.used) longest = entry;
  }
  return longest;
}

void StreamRegistry::forget_closed() {
  while (streams_ > kMostStreams) {
    const auto victim = longest_unused(/*open=*/false);
    if (victim == entries_.end()) return;
    --streams_;
    victim->second.stream.reset();
    if (!victim->second.sealed_bytes && !victim->second.was_other) entries_.erase(victim);
  }
}

// The longest unused half at once: one by one each would cost a look at all.
void StreamRegistry::forget_sizes() {
  if (entries_.size() <= kMostRemembered) return;
  const auto goes = [](const Entry& entry) { return !entry.stream && !entry.was_other; };
  std::vector<std::uint64_t> used;
  for (const auto& [node, entry] : entries_) {
    if (goes(entry)) used.push_back(entry.used);
  }
  if (used.empty()) return;
  const auto middle = used.begin() + static_cast<std::ptrdiff_t>(used.size() / 2);
  std::nth_element(used.begin(), middle, used.end());
  std::erase_if(entries_, [&](const auto& known) {
    return goes(known.second) && known.second.used <= *middle;
  });
}

void StreamRegistry::trim() {
  MutexLock lock(mutex_);
  forget_closed();
  forget_sizes();
  struct Held {
    std::uint64_t used;
    std::size_t bytes;
    SegmentStream* stream;
    bool open;
  };
  std::vector<Held> held;
  std::size_t bytes = 0;
  for (const auto& [node, entry] : entries_) {
    if (!entry.stream) continue;
    held.push_back({entry.used, entry.stream->points_bytes(), entry.stream.get(), entry.is_open()});
    bytes += held.back().bytes;
  }
  if (bytes <= points_budget_bytes_) return;
  std::sort(held.begin(), held.end(), [](const Held& a, const Held& b) {
    return std::pair(a.open, a.used) < std::pair(b.open, b.used);
  });
  auto update = [&](Held& one) {
    const std::size_t now = one.stream->points_bytes();
    bytes -= one.bytes - std::min(one.bytes, now);
    one.bytes = now;
  };
  for (Held& one : held) {
    if (one.open || bytes <= points_budget_bytes_) break;
    one.stream->drop_points();
    update(one);
  }
  for (bool thinned = true; thinned && bytes > points_budget_bytes_;) {
    thinned = false;
    for (Held& one : held) {
      if (!one.open || bytes <= points_budget_bytes_) continue;
      thinned |= one.stream->thin_points();
      update(one);
    }
  }
}

std::size_t StreamRegistry::remembered() const {
  MutexLock lock(mutex_);
  return entries_.size();
}

std::size_t StreamRegistry::points_bytes() const {
  MutexLock lock(mutex_);
  std::size_t bytes = 0;
  for (const auto& [node, entry] : entries_) {
    if (entry.stream) bytes += entry.stream->points_bytes();
  }
  return bytes;
}

}  // namespace offsetfs::fs
