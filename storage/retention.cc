#include "storage/retention.h"

#include <algorithm>

namespace offsetfs::storage {
namespace {

constexpr std::int64_t kDayMs = 86'400'000;

struct LocalLimits {
  std::int64_t retention_ms;
  std::int64_t retention_bytes;
  bool needs_upload;
  const char* ms_name = "retention.ms";
  const char* bytes_name = "retention.bytes";
};

// With tiered storage and copying on, the local limits rule the local log; -2 takes the plain ones.
// Compacted topics and Kafka's own are never tiered.
LocalLimits local_limits(const RetentionInput& input) {
  const auto& config = input.config;
  LocalLimits limits{config.retention_ms, config.retention_bytes, false};
  const bool tiered = config.remote_storage_enable && !config.remote_log_copy_disable &&
                      !config.cleanup_policy.compact && !input.is_internal;
  if (!tiered) return limits;
  limits.needs_upload = true;
  if (config.local_retention_ms != -2) {
    limits.retention_ms = config.local_retention_ms;
    limits.ms_name = "local.retention.ms";
  }
  if (config.local_retention_bytes != -2) {
    limits.retention_bytes = config.local_retention_bytes;
    limits.bytes_name = "local.retention.bytes";
  }
  return limits;
}

// The three rules over the segments of one log; each says for how many from `from` on it holds.
class Rules {
 public:
  explicit Rules(const RetentionInput& input)
      : input_(input),
        segments_(input.segments),
        limits_(local_limits(input)),
        bytes_from_(segments_.size() + 1) {
    for (std::size_t i = segments_.size(); i > 0; --i)
      bytes_from_[i - 1] = bytes_from_[i] + segments_[i - 1].size_bytes;
  }

  const LocalLimits& limits() const { return limits_; }
  // Only the log-start rule acts on what is not "delete"; nothing acts if the cleaner that would do
  // it for compacted logs is off.
  bool any_rule() const {
    return !input_.config.cleanup_policy.compact || input_.config.cleaner_enable;
  }
  bool time_and_size() const { return any_rule() && input_.config.cleanup_policy.remove; }

  bool replicated(std::size_t i) const { return input_.high_watermark >= segments_[i].next_offset; }
  bool empty_active(std::size_t i) const {
    return i + 1 == segments_.size() && segments_[i].size_bytes == 0;
  }
  bool may_go(std::size_t i) const {
    if (!segments_[i].is_known || !replicated(i) || empty_active(i)) return false;
    return !limits_.needs_upload || segments_[i].next_offset <= input_.log_start_offset;
  }
  bool breaches_log_start(std::size_t i) const {
    return i + 1 < segments_.size() && segments_[i + 1].base_offset <= input_.log_start_offset;
  }
  bool expired(std::size_t i) const {
    if (limits_.retention_ms < 0 || !segments_[i].is_known) return false;
    const auto largest = segments_[i].largest_timestamp;
    std::int64_t age = 0;
    if (__builtin_sub_overflow(input_.now.value, largest.value, &age))
      age = largest.value < 0 ? INT64_MAX : INT64_MIN;
    return age > limits_.retention_ms;
  }
  std::int64_t bytes_from(std::size_t from) const { return bytes_from_[from]; }
  // What the log has above its limit when it begins at segment `from`; negative: below it.
  std::int64_t excess_from(std::size_t from) const {
    return bytes_from(from) - limits_.retention_bytes;
  }

  std::size_t end_of_log_start(std::size_t from) const {
    if (!any_rule()) return from;
    while (from < segments_.size() && breaches_log_start(from) && may_go(from)) ++from;
    return from;
  }
  std::size_t end_of_size(std::size_t from) const {
    if (!time_and_size() || limits_.retention_bytes < 0) return from;
    auto excess = excess_from(from);
    while (from < segments_.size() && excess - segments_[from].size_bytes >= 0 && may_go(from))
      excess -= segments_[from++].size_bytes;
    return from;
  }
  std::size_t end_of_time(std::size_t from) const {
    if (!time_and_size()) return from;
    while (from < segments_.size() && expired(from) && may_go(from)) ++from;
    return from;
  }

 private:
  const RetentionInput& input_;
  const std::vector<RetentionSegment>& segments_;
  const LocalLimits limits_;
  std::vector<std::int64_t> bytes_from_;  // of the segments from i on
};

std::string ms_text(std::int64_t ms) { return std::to_string(ms) + " ms"; }

// Fills in one verdict after the other; what an older segment decided shapes the next.
class Judge {
 public:
  explicit Judge(const RetentionInput& input)
      : input_(input), rules_(input), verdicts_(input.segments.size()) {
    after_log_start_ = rules_.end_of_log_start(0);
    after_size_ = rules_.end_of_size(after_log_start_);
    after_time_ = rules_.end_of_time(after_size_);
  }

  std::vector<RetentionVerdict> run() {
    for (std::size_t i = 0; i < verdicts_.size(); ++i) {
      auto& verdict = verdicts_[i];
      if (i < after_time_)
        taken(i, verdict);
      else
        kept(i, verdict);
      verdict.rolls_first = i + 1 == verdicts_.size() && verdict.due != kNever;
      moments(i, verdict);
    }
    return std::move(verdicts_);
  }

 private:
  const RetentionSegment& segment(std::size_t i) const { return input_.segments[i]; }
  std::int64_t interval_ms() const {
    return input_.config.cleanup_policy.compact ? input_.config.cleaner_backoff_ms
                                                : input_.config.retention_check_interval_ms;
  }
  // The first millisecond at which the time rule holds: it is strict.
  TimestampMs expires(std::size_t i) const {
    if (rules_.limits().retention_ms < 0) return kNever;
    return add_saturated(add_saturated(segment(i).largest_timestamp, rules_.limits().retention_ms),
                         1);
  }

  void taken(std::size_t i, RetentionVerdict& verdict) {
    verdict.hold = Hold::kNothing;
    verdict.due = input_.now;
    if (i < after_log_start_) {
      verdict.rule = RetentionRule::kLogStart;
      verdict.reason = "the log start offset " + std::to_string(input_.log_start_offset.value) +
                       " lies at or past its end";
    } else if (i < after_size_) {
      verdict.rule = RetentionRule::kSize;
      verdict.reason = std::string("without it the log still has ") + rules_.limits().bytes_name +
                       "=" + std::to_string(rules_.limits().retention_bytes) + " or more";
    } else {
      verdict.rule = RetentionRule::kTime;
      // Since when the rule holds: no sooner than for all before it.
      expired_since_ = std::max(expired_since_, expires(i));
      verdict.due = std::min(input_.now, expired_since_);
      verdict.reason = "its largest timestamp " +
                       std::to_string(segment(i).largest_timestamp.value) + " is more than " +
                       rules_.limits().ms_name + "=" +
                       std::to_string(rules_.limits().retention_ms) + " old";
    }
  }

  void kept(std::size_t i, RetentionVerdict& verdict) {
    if (i == after_time_) {
      own_hold(i, verdict);
    } else {
      behind(i, verdict);
    }
    if (input_.config.cleanup_policy.remove && rules_.limits().retention_bytes >= 0)
      verdict.bytes_to_go = bytes_to_go(i);
  }

  // Why the first survivor survives.
  void own_hold(std::size_t i, RetentionVerdict& verdict) {
    const auto expiry = expires(i);
    if (!rules_.any_rule()) {
      verdict.hold = Hold::kNoRule;
      verdict.reason = "log.cleaner.enable is false: nothing works on a compacted log";
    } else if (rules_.empty_active(i)) {
      verdict.hold = Hold::kActive;
      verdict.reason = "the active segment is empty";
    } else if (!segment(i).is_known) {
      unknown(verdict);
    } else if (rules_.breaches_log_start(i) ||
               (rules_.time_and_size() && (rules_.expired(i) || breaches_size(i)))) {
      held_though_due(i, verdict);
    } else if (!rules_.time_and_size()) {
      verdict.hold = Hold::kNoRule;
      verdict.reason = input_.config.cleanup_policy.compact
                           ? "cleanup.policy=compact: compaction removes records, no rule deletes "
                             "segments by time or size"
                           : "cleanup.policy is empty: nothing expires";
    } else if (expiry == kNever) {
      verdict.hold = Hold::kNoRule;
      verdict.reason =
          rules_.limits().retention_ms < 0
              ? (rules_.limits().retention_bytes < 0
                     ? "retention.ms and retention.bytes are both off"
                     : "retention.ms is off, and the log is not above retention.bytes=" +
                           std::to_string(rules_.limits().retention_bytes))
              : "its time is beyond what a clock can reach";
    } else {
      waits(i, verdict, expiry);
      hold_for_replicas(i, verdict);
    }
  }

  static void unknown(RetentionVerdict& verdict) {
    verdict.hold = Hold::kUnknown;
    verdict.rule = RetentionRule::kNone;
    verdict.due = kNever;
    verdict.blocker.reset();
    verdict.reason = "it can't be read: what a broker makes of it is not known";
  }

  bool breaches_size(std::size_t i) const {
    return rules_.limits().retention_bytes >= 0 &&
           rules_.excess_from(i) - segment(i).size_bytes >= 0;
  }

  // A rule wants it, but it may not go.
  void held_though_due(std::size_t i, RetentionVerdict& verdict) const {
    verdict.rule = rules_.breaches_log_start(i) ? RetentionRule::kLogStart
                   : breaches_size(i)           ? RetentionRule::kSize
                                                : RetentionRule::kTime;
    if (!rules_.replicated(i)) {
      verdict.hold = Hold::kHighWatermark;
      verdict.reason = "the high watermark " + std::to_string(input_.high_watermark.value) +
                       " is below its end " + std::to_string(segment(i).next_offset.value) +
                       ": not every replica has it yet";
    } else {
      verdict.hold = Hold::kRemote;
      verdict.reason = "tiered storage: it goes once it is uploaded, which is not to be seen here";
    }
  }

  void waits(std::size_t i, RetentionVerdict& verdict, TimestampMs expiry) {
    verdict.rule = RetentionRule::kTime;
    const auto largest = segment(i).largest_timestamp;
    const bool future = largest > input_.now;
    verdict.hold = future ? Hold::kFuture : Hold::kNotExpired;
    verdict.due = expiry;
    verdict.reason = future
                         ? "its largest timestamp " + std::to_string(largest.value) +
                               " lies ahead of the clock: it blocks every newer segment"
                         : "its largest timestamp " + std::to_string(largest.value) + " plus " +
                               rules_.limits().ms_name + "=" +
                               std::to_string(rules_.limits().retention_ms) + " is still to come";
    hold_for_upload(i, verdict);
  }

  void behind(std::size_t i, RetentionVerdict& verdict) {
    const auto& before = verdicts_[i - 1];
    const auto own = expires(i);
    const bool by_time = rules_.time_and_size() && !rules_.empty_active(i);
    verdict.rule = before.rule == RetentionRule::kNone || !by_time ? RetentionRule::kNone
                                                                   : RetentionRule::kTime;
    verdict.due = by_time ? std::max(before.due, own) : kNever;
    if (rules_.empty_active(i)) {
      verdict.hold = Hold::kActive;
      verdict.reason = "the active segment is empty";
      return;
    }
    if (!segment(i).is_known) return unknown(verdict);
    if (before.due >= own || before.due == kNever) {
      verdict.hold = before.hold == Hold::kNoRule ? Hold::kNoRule : Hold::kBehind;
      verdict.blocker = before.blocker ? before.blocker : segment(i - 1).base_offset;
      verdict.reason =
          verdict.hold == Hold::kNoRule
              ? before.reason
              : "segment " + std::to_string(verdict.blocker->value) +
                    " before it stays longer, and deletion never passes over a segment";
      if (verdict.hold == Hold::kNoRule) verdict.blocker.reset();
    } else {
      waits(i, verdict, own);
      verdict.due = std::max(verdict.due, before.due);
    }
    hold_for_replicas(i, verdict);
  }

  // What is not replicated, or not uploaded, has no date.
  void hold_for_replicas(std::size_t i, RetentionVerdict& verdict) const {
    if (rules_.replicated(i) || verdict.due == kNever) return;
    verdict.reason += "; besides, the high watermark " +
                      std::to_string(input_.high_watermark.value) + " is below its end";
  }
  void hold_for_upload(std::size_t i, RetentionVerdict& verdict) const {
    if (!rules_.limits().needs_upload || segment(i).next_offset <= input_.log_start_offset) return;
    verdict.reason += "; tiered storage: and only once it is uploaded";
  }

  // The size rule takes segment i once all up to it are excess.
  std::int64_t bytes_to_go(std::size_t i) const {
    return std::max<std::int64_t>(0, rules_.limits().retention_bytes - rules_.bytes_from(i + 1));
  }

  void moments(std::size_t i, RetentionVerdict& verdict) const {
    if (verdict.due == kNever) return;
    const auto from = std::max(verdict.due, input_.now);
    verdict.earliest_renamed = from;
    verdict.earliest_gone = add_saturated(from, input_.config.file_delete_delay_ms);
    // When it will have been uploaded nobody can tell.
    if (rules_.limits().needs_upload && segment(i).next_offset > input_.log_start_offset) {
      return;
    }
    verdict.latest_renamed = add_saturated(from, interval_ms());
    verdict.latest_gone = add_saturated(verdict.latest_renamed, input_.config.file_delete_delay_ms);
  }

  const RetentionInput& input_;
  const Rules rules_;
  std::vector<RetentionVerdict> verdicts_;
  std::size_t after_log_start_ = 0, after_size_ = 0, after_time_ = 0;
  TimestampMs expired_since_{INT64_MIN};
};

}  // namespace

const char* timestamp_origin_name(TimestampOrigin origin) {
  switch (origin) {
    case TimestampOrigin::kLog: return "log";
    case TimestampOrigin::kTimeIndex: return "time index";
    case TimestampOrigin::kMtime: return "mtime";
  }
  return "";
}

const char* retention_rule_name(RetentionRule rule) {
  switch (rule) {
    case RetentionRule::kNone: return "none";
    case RetentionRule::kLogStart: return "log start";
    case RetentionRule::kSize: return "size";
    case RetentionRule::kTime: return "time";
  }
  return "";
}

const char* hold_name(Hold hold) {
  switch (hold) {
    case Hold::kNothing: return "nothing";
    case Hold::kNotExpired: return "not expired";
    case Hold::kBehind: return "behind an older segment";
    case Hold::kFuture: return "future timestamp";
    case Hold::kHighWatermark: return "high watermark";
    case Hold::kActive: return "active";
    case Hold::kNoRule: return "no rule";
    case Hold::kUnknown: return "unreadable";
    case Hold::kRemote: return "remote upload";
  }
  return "";
}

std::vector<RetentionVerdict> judge_retention(const RetentionInput& input) {
  return Judge(input).run();
}

std::size_t count_deletable(const RetentionInput& input) {
  const Rules rules(input);
  return rules.end_of_time(rules.end_of_size(rules.end_of_log_start(0)));
}

TimestampMs add_saturated(TimestampMs time, std::int64_t ms) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(time.value, ms, &sum)) return {sum};
  return {ms > 0 ? INT64_MAX : INT64_MIN};
}

std::string implausible_timestamp(TimestampMs timestamp, TimestampMs now) {
  const auto t = timestamp.value;
  const auto near_now = [&](std::int64_t ms) {
    constexpr std::int64_t kTenYearsMs = 10 * 366 * kDayMs;
    const auto away = ms > now.value ? ms - now.value : now.value - ms;
    return away < kTenYearsMs;
  };
  if (t < 0 || near_now(t)) {
    if (t > now.value && t - now.value > kDayMs)
      return "lies " + ms_text(t - now.value) + " ahead of the clock";
    return {};
  }
  if (t < INT64_MAX / 1000 && near_now(t * 1000)) return "looks like seconds, not milliseconds";
  if (near_now(t / 1000)) return "looks like microseconds, not milliseconds";
  if (near_now(t / 1'000'000)) return "looks like nanoseconds, not milliseconds";
  if (t > now.value) return "lies more than ten years ahead of the clock";
  return {};
}

}  // namespace offsetfs::storage
