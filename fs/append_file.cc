#include "fs/append_file.h"

#include <cerrno>
#include <utility>

#include <unistd.h>

namespace offsetfs::fs {
namespace {

using storage::Bytes;
using storage::Result;

// The kernel names threads, and any thread of a process may close. It names nobody (0) outside our
// namespace of processes: who that is can't be told apart.
bool are_one_process(pid_t a, pid_t b) {
  if (a <= 0 || b <= 0) return false;
  if (a == b) return true;
  const auto thread = "/proc/" + std::to_string(a) + "/task/" + std::to_string(b);
  return ::access(thread.c_str(), F_OK) == 0;
}

}  // namespace

AppendFile::~AppendFile() { (void)told(writer_->finish_line()).has_value(); }

template <class T>
Result<T> AppendFile::told(Result<T> done) const {
  if (!done && log_) log_(LogLevel::kWarning, done.error().what);
  return done;
}

Result<Bytes> AppendFile::read(std::uint64_t, std::size_t, std::string&) const {
  return storage::fail_errno(EBADF, "not open for reading");
}

Result<std::size_t> AppendFile::write(Bytes bytes, pid_t writer) {
  last_writer_.store(writer, std::memory_order_relaxed);
  return told(writer_->write(bytes));
}

Result<void> AppendFile::flush(pid_t closer) {
  const pid_t writer = last_writer_.load(std::memory_order_relaxed);
  const bool is_end = writer_->has_unfinished_line() && are_one_process(writer, closer);
  return told(is_end ? writer_->finish_line() : writer_->flush());
}

Result<void> AppendFile::sync() { return told(writer_->sync()); }

// As the writer makes them come the writes, so that one may be short; and not at a position, so
// that nobody thinks that one counts.
OpenFlags AppendFile::flags() const {
  OpenFlags flags;
  flags.direct_io = flags.nonseekable = flags.is_written = true;
  return flags;
}

}  // namespace offsetfs::fs
