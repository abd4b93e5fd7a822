#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace offsetfs::storage {

// Who wants to know of changes of a source's logs listens here; who notices them, publishes here.
//
// A change says where to look, not what is there: it may come late, twice, or for nothing, and
// several appends may make one. What a listener that was called then asks a PartitionLog is at
// least as new as the change. Whatever happens after subscribe() returned is told: so subscribe
// first, look second, and wait third, and nothing is missed.
//
// Any thread.
class LogChanges {
 public:
  struct Change {
    enum class Kind {
      kAppended,     // the active segment was written to
      kSegments,     // segments came or went: rolls, renames, deletions, compaction, a truncation
      kPartitions,   // partitions came, went or were renamed; told to every listener
      kCheckpoints,  // a checkpoint beside the partitions was written: log start, high watermark
    };
    Kind kind = Kind::kAppended;
    std::uint32_t partition = 0;  // id of a LogSource::Partition; unused for kPartitions
  };
  // Called in the thread that noticed the change. It must return at once: it holds up all others.
  // It may drop its own Subscription and subscribe to nothing.
  using Listener = std::function<void(const Change&)>;

  // Listens as long as it lives. Once it is gone the listener is not being called, and never will
  // be again; so destroy it holding no lock that the listener takes.
  class Subscription {
   public:
    Subscription() = default;
    Subscription(Subscription&&) noexcept = default;
    Subscription& operator=(Subscription&& other) noexcept;
    ~Subscription() { end(); }
    void end();

   private:
    friend class LogChanges;
    std::shared_ptr<struct LogListener> listener_;
    std::weak_ptr<struct LogListeners> listeners_;
  };

  // Who notices changes: told of which partitions somebody wants to hear appends. Calls come from
  // the thread that subscribes, before subscribe() returns, and once each for every subscription.
  class Watcher {
   public:
    virtual ~Watcher() = default;
    virtual void begin_listening(std::uint32_t partition) = 0;
    virtual void end_listening(std::uint32_t partition) = 0;
    // See below.
    virtual bool is_prompt(std::uint32_t /*partition*/) { return false; }
    virtual std::string manner() { return "none"; }
  };

  LogChanges();
  ~LogChanges();
  LogChanges(const LogChanges&) = delete;
  LogChanges& operator=(const LogChanges&) = delete;

  // Of one partition; or of all, and of those only what is noticed anyhow: a partition's appends
  // are watched for while somebody listens to that partition.
  Subscription subscribe(std::optional<std::uint32_t> partition, Listener listener);
  void publish(const Change& change);

  // Whether changes of the partition's segments are told as they happen, without anybody listening
  // to it: not looked for now and then, and not at all only if they can't be. Once true it stays.
  bool is_prompt(std::uint32_t partition) const;
  // How changes are noticed, for `stats`: "inotify", "polling", "inotify,polling", "none".
  std::string manner() const;

  // Before the first subscription; null when it ends.
  void set_watcher(Watcher* watcher);

 private:
  const std::shared_ptr<struct LogListeners> listeners_;
};

}  // namespace offsetfs::storage
