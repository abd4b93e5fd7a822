#include "fs/record_appender.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

namespace offsetfs::fs {
namespace {

using storage::Bytes;
using storage::Errc;
using storage::Error;
using storage::MutexLock;
using storage::Result;
using storage::TimestampMs;

// Lengths, deltas and attributes of a record, and of each header: at most so much.
constexpr std::size_t kRecordOverhead = 32;
constexpr std::size_t kHeaderOverhead = 10;

std::size_t size_of(const std::optional<Bytes>& bytes) { return bytes ? bytes->size() : 0; }

std::size_t most_bytes(const NewRecord& record) {
  std::size_t sum = kRecordOverhead + size_of(record.key) + size_of(record.value);
  for (const auto& header : record.headers)
    sum += kHeaderOverhead + header.key.size() + size_of(header.value);
  return sum;
}

// What a writer is to be told of an append that failed.
Error for_writer(Error error) {
  if (error.code == Errc::kIo) return error;
  error.sys_errno = error.code == Errc::kTooLarge ? EMSGSIZE : EIO;
  error.code = Errc::kIo;
  return error;
}

// An escape (\u00XX) stands for one byte, base64 for fewer; the names of fields and the rest of an
// object need some room too.
constexpr std::size_t kMostEscapedBytes = 6;
constexpr std::size_t kRestOfObject = 64 << 10;
// By how much a batch may shrink and its records still be taken. More would only cost memory.
constexpr std::size_t kMostCompressed = 16;
constexpr std::size_t kMostRecordBytes = 256 << 20;

std::size_t most_line_bytes(const RecordAppender::Options& options,
                            const storage::LogConfig& config) {
  auto most = static_cast<std::size_t>(std::max<std::int64_t>(config.max_message_bytes, 0));
  if (options.codec != storage::Codec::kNone)
    most = std::min(most * kMostCompressed, kMostRecordBytes);
  return options.form == Form::kJsonl ? most * kMostEscapedBytes + kRestOfObject : most;
}

// Of plain lines all are without one, if they are not split. Kafka's words, for whoever looks them
// up.
std::string missing_key(const RecordAppender::Options& options) {
  const std::string what = "Compacted topic cannot accept message without key: ";
  return what +
         (options.form == Form::kJsonl
              ? "\"key\" is not there, or null"
              : "give --key-separator, or -o append,key_separator=TEXT, and the key in front "
                "of TEXT in each line");
}

RecordAppender::Options completed(RecordAppender::Options options,
                                  const storage::LogConfig& config) {
  options.batch_bytes =
      std::min({options.batch_bytes, config.max_message_bytes, config.segment_bytes});
  if (options.most_line_bytes == 0) options.most_line_bytes = most_line_bytes(options, config);
  return options;
}

}  // namespace

RecordAppender::RecordAppender(std::shared_ptr<WrittenLog> log, std::shared_ptr<LingerTimer> timer,
                               Options options)
    : log_(std::move(log)),
      timer_(std::move(timer)),
      options_(completed(std::move(options), log_->writer().config())),
      parser_(make_line_parser(options_.form, options_.key_separator)),
      needs_keys_(log_->writer().config().cleanup_policy.compact) {
  const MutexLock lock(mutex_);
  begin_batch();
}

TimestampMs RecordAppender::now() const {
  if (options_.now) return options_.now();
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

void RecordAppender::begin_batch() {
  storage::BatchBuilder::Options options;
  options.codec = options_.codec;
  batch_.start(options);
  ++batch_number_;
}

tl::unexpected<Error> RecordAppender::refuse(std::int64_t line, int sys_errno,
                                             const std::string& what) const {
  return storage::fail(
      Error{Errc::kIo, sys_errno, options_.name + ", line " + std::to_string(line) + ": " + what});
}

Result<void> RecordAppender::take_failure() {
  if (!failure_) return {};
  Error failure = std::move(*failure_);
  failure_.reset();
  return storage::fail(std::move(failure));
}

Result<std::size_t> RecordAppender::write(Bytes bytes) {
  const MutexLock lock(mutex_);
  RETURN_IF_ERROR(take_failure());
  if (skipping_) {
    // With its end, too: whoever is told of success must find in the log what he wrote.
    skipping_ = bytes.find('\n') == Bytes::npos;
    const std::int64_t line = skipping_ ? lines_ + 1 : ++lines_;
    return refuse(line, EMSGSIZE, "the rest of a line that was too long");
  }
  Progress progress;
  return take_lines(bytes, progress);
}

Result<std::size_t> RecordAppender::take_lines(Bytes bytes, Progress& progress) {
  for (;;) {
    const Bytes rest = bytes.substr(progress.taken);
    const auto newline = rest.find('\n');
    if (newline == Bytes::npos) return keep(rest, progress);
    const bool is_carried = progress.taken == 0 && !unfinished_.empty();
    if (is_carried) {
      progress.carried = newline + 1;
      unfinished_.append(rest.substr(0, newline));
    }
    const std::string carried = std::exchange(unfinished_, {});  // what `parsed` views
    const std::int64_t number = lines_ + progress.lines + 1;
    auto parsed = parse(is_carried ? Bytes(carried) : rest.substr(0, newline), number);
    if (!parsed && progress.taken > 0) return short_write(progress);
    if (!parsed) return end_write(progress, std::move(parsed.error()));
    if (*parsed) {
      if (auto added = add(**parsed, number, newline + 1, progress); !added)
        return end_write(progress, std::move(added.error()));
      continue;
    }
    progress.taken += newline + 1;
    ++progress.lines;
  }
}

Result<std::optional<NewRecord>> RecordAppender::parse(Bytes line, std::int64_t number) {
  if (line.size() > options_.most_line_bytes)
    return refuse(number, EMSGSIZE,
                  std::to_string(line.size()) + " bytes, more than the " +
                      std::to_string(options_.most_line_bytes) + " that a line may have");
  auto parsed = parser_->parse(line);
  if (!parsed) return refuse(number, EINVAL, parsed.error().what);
  // The log would refuse the batch, and so the good lines in it.
  if (needs_keys_ && *parsed && !(*parsed)->key)
    return refuse(number, EINVAL, missing_key(options_));
  return parsed;
}

bool RecordAppender::is_full() const {
  return static_cast<std::int64_t>(batch_.size_bytes()) >= options_.batch_bytes;
}

Result<void> RecordAppender::add(const NewRecord& record, std::int64_t number,
                                 std::size_t line_bytes, Progress& progress) {
  const auto note_in_log = [&] {
    progress.in_log = progress.taken;
    progress.lines_in_log = progress.lines;
  };
  const auto with_it = static_cast<std::int64_t>(batch_.size_bytes() + most_bytes(record));
  if (batch_.records_count() > 0 && with_it > options_.batch_bytes) {
    RETURN_IF_ERROR(push_out());
    note_in_log();
  }
  if (batch_.records_count() == 0) batch_first_line_ = number;
  batch_last_line_ = number;
  batch_.add(record.timestamp ? *record.timestamp : now(), record.key, record.value,
             record.headers);
  progress.taken += line_bytes;
  ++progress.lines;
  if (!is_full()) return {};
  RETURN_IF_ERROR(push_out());
  note_in_log();
  return {};
}

std::string RecordAppender::lines_of_batch() const {
  const std::string last = std::to_string(batch_last_line_);
  if (batch_first_line_ == batch_last_line_) return "line " + last;
  return "lines " + std::to_string(batch_first_line_) + " to " + last;
}

Result<void> RecordAppender::push_out() {
  if (batch_.records_count() == 0) return {};
  auto appended = log_->append(batch_.finish());
  begin_batch();
  if (!appended) {
    Error error = for_writer(std::move(appended.error()));
    error.what = options_.name + ", " + lines_of_batch() + ": not appended: " + error.what;
    return storage::fail(std::move(error));
  }
  if (options_.on_appended) options_.on_appended(*appended);
  return {};
}

// A write that could not be taken whole. What is in the log for sure counts as taken; the writer
// comes again with the rest, and meets the error then, if it is still there. The rest of a line
// that was begun earlier must not come again: it would be a line of its own.
Result<std::size_t> RecordAppender::end_write(const Progress& progress, Error error) {
  if (progress.in_log > 0) {
    if (options_.is_durable) RETURN_IF_ERROR(log_->sync());
    lines_ += progress.lines_in_log;
    return progress.in_log;
  }
  if (progress.carried == 0) return storage::fail(std::move(error));
  ++lines_;
  failure_ = std::move(error);
  return progress.carried;
}

// Up to a line that was refused.
Result<std::size_t> RecordAppender::short_write(const Progress& progress) {
  if (timer_ == nullptr || options_.is_durable) {
    if (auto pushed = push_out(); !pushed) return end_write(progress, std::move(pushed.error()));
    if (options_.is_durable) RETURN_IF_ERROR(log_->sync());
  } else if (batch_.records_count() > 0 && lingering_batch_ != batch_number_) {
    lingering_batch_ = batch_number_;
    timer_->call_later([weak = weak_from_this(), number = batch_number_] {
      if (const auto self = weak.lock()) self->linger_is_over(number);
    });
  }
  lines_ += progress.lines;
  return progress.taken;
}

// The end of a write: `rest` is a line's beginning.
Result<std::size_t> RecordAppender::keep(Bytes rest, const Progress& progress) {
  if (unfinished_.size() + rest.size() > options_.most_line_bytes) {
    if (progress.taken > 0) return short_write(progress);
    unfinished_ = {};
    skipping_ = true;
    return refuse(lines_ + 1, EMSGSIZE,
                  "more than the " + std::to_string(options_.most_line_bytes) +
                      " bytes that a line may have");
  }
  ASSIGN_OR_RETURN(const std::size_t taken, short_write(progress));
  if (taken < progress.taken) return taken;
  unfinished_.append(rest);
  return taken + rest.size();
}

Result<void> RecordAppender::flush() {
  const MutexLock lock(mutex_);
  auto failed = take_failure();
  RETURN_IF_ERROR(push_out());
  return failed;
}

Result<void> RecordAppender::sync() {
  auto flushed = flush();
  RETURN_IF_ERROR(log_->sync());
  return flushed;
}

Result<void> RecordAppender::finish_line() {
  auto finished = add_unfinished();
  auto flushed = options_.is_durable ? sync() : flush();
  RETURN_IF_ERROR(std::move(finished));
  return flushed;
}

Result<void> RecordAppender::add_unfinished() {
  const MutexLock lock(mutex_);
  const std::string line = std::exchange(unfinished_, {});
  skipping_ = false;
  if (line.empty()) return {};
  ++lines_;
  ASSIGN_OR_RETURN(const auto record, parse(line, lines_));
  Progress progress;
  return record ? add(*record, lines_, line.size(), progress) : Result<void>{};
}

bool RecordAppender::has_unfinished_line() const {
  const MutexLock lock(mutex_);
  return !unfinished_.empty();
}

void RecordAppender::linger_is_over(std::uint64_t batch) {
  const MutexLock lock(mutex_);
  if (batch != batch_number_) return;
  if (auto pushed = push_out(); !pushed && !failure_) failure_ = std::move(pushed.error());
}

}  // namespace offsetfs::fs
