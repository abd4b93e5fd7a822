#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <thread>
#include <unordered_map>
#include <vector>

#include "fs/kernel_caches.h"
#include "fs/node_table.h"
#include "fs/partitions.h"
#include "fs/told_names.h"
#include "storage/log_changes.h"
#include "storage/log_source.h"

namespace offsetfs::fs {

// Takes back what the kernel was told and is not true any more: listens to the source's changes and
// hands them to a thread of its own.
//
// Why nothing stale stays, though an answer may be on its way while its subject changes: the log
// has looked again before a change is published, so who asks after that gets the new answer. An
// answer that was made before is still under the lock of its directory in the kernel, and the
// taking back of a name waits for that lock; for attributes the kernel itself drops answers to what
// was asked before they were taken back.
//
// What changes with every append is not here: the kernel keeps neither the size of what grows nor a
// link that moves, but asks each time.
class Invalidator {
 public:
  // All outlive this but the kernel's caches, which it has to itself.
  Invalidator(const storage::LogSource& source, const Partitions& partitions,
              const NodeTable& nodes, ToldNames& told, std::unique_ptr<KernelCaches> caches);
  ~Invalidator() { stop(); }
  Invalidator(const Invalidator&) = delete;
  Invalidator& operator=(const Invalidator&) = delete;

  // While requests are still being answered: it may wait for some of them.
  void stop();

 private:
  // What was true of a partition when the kernel was set right last.
  struct Known {
    std::uint64_t losses = 0;
    std::optional<storage::Offset> log_start_offset;
    std::optional<storage::Offset> active_base_offset;
  };

  void on_change(const storage::LogChanges::Change& change);
  void run(const std::stop_token& stop);
  void look_at_partitions();
  void look_at(std::uint32_t partition);
  void take_back_segments(const PartitionView& view);
  std::vector<std::uint64_t> streams_of(const Node& segment) const;
  std::uint64_t number_of(NodeKind kind, std::uint32_t partition) const;

  const Partitions& partitions_;
  const NodeTable& nodes_;
  ToldNames& told_;
  const std::unique_ptr<KernelCaches> caches_;
  std::unordered_map<std::uint32_t, Known> known_;  // its thread's own

  std::mutex mutex_;  // a plain one: a condition waits with it
  std::condition_variable_any pending_;
  std::set<std::uint32_t> pending_partitions_;  // to be looked at
  bool pending_listing_ = false;
  std::jthread thread_;
  storage::LogChanges::Subscription subscription_;  // last: it calls on the others
};

}  // namespace offsetfs::fs
