#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "fs/log_sink.h"
#include "fs/open_file.h"
#include "fs/record_appender.h"

namespace offsetfs::fs {

// `append` or `append.jsonl`, opened: a writer of the log, as a file.
//
// A line without its newline is one when the file is closed. By whom that is, is not plain: a
// shell's children share its open file, and each that ends closes it. So a close counts if it is
// the process that wrote the line's beginning who closes, and the last close counts in any case.
class AppendFile final : public OpenFile {
 public:
  // `log` is told what fails and why: an errno says little.
  AppendFile(std::shared_ptr<RecordAppender> writer, LogSink log)
      : writer_(std::move(writer)), log_(std::move(log)) {}
  ~AppendFile() override;

  storage::Result<storage::Bytes> read(std::uint64_t position, std::size_t size,
                                       std::string& buffer) const override;
  storage::Result<std::size_t> write(storage::Bytes bytes, pid_t writer) override;
  storage::Result<void> flush(pid_t closer) override;
  storage::Result<void> sync() override;
  OpenFlags flags() const override;

 private:
  template <class T>
  storage::Result<T> told(storage::Result<T> done) const;

  const std::shared_ptr<RecordAppender> writer_;
  const LogSink log_;
  std::atomic<pid_t> last_writer_ = 0;
};

}  // namespace offsetfs::fs
