#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "fs/attributes.h"
#include "fs/kernel_caches.h"
#include "fs/log_sink.h"
#include "fs/mount_options.h"
#include "fs/open_file.h"
#include "fs/xattrs.h"
#include "storage/log_source.h"
#include "storage/result.h"

namespace offsetfs::fs {

class WrittenLogs;

// The mounted tree as plain functions, one for each question the kernel asks. It knows no FUSE: the
// callbacks of fuse_ops.h unpack a request, call one of these and reply once.
//
// Nodes are known by their numbers (node_id.h, node_table.h); 1 is the root. What a number says is
// looked up in the source each time it is asked, so that nothing here goes stale but what the
// caches of storage/ answer for.
//
// Any thread; any number at once. Errors are values, become errnos in to_errno.h, and have been
// logged here where they are damage or failure rather than an answer.
class FileSystem {
 public:
  // A name that was looked up. `ino` 0: it can never be anything, and `entry_timeout` says how long
  // the kernel may believe that; kNotFound instead of an entry is what may still come to be.
  struct Entry {
    std::uint64_t ino = 0;
    Attributes attributes;
    double entry_timeout = kNever;
  };

  struct Space {
    std::int64_t size_bytes = 0;  // of the source's files, as far as they are known
  };

  // One name of a directory. The name is valid during the call.
  struct Name {
    std::string_view name;
    std::uint64_t ino = 0;
    mode_t type = 0;          // S_IFREG, S_IFDIR or S_IFLNK
    std::int64_t cookie = 0;  // where a listing goes on behind it
    // Where attributes were asked for. With `ino` 0 they are not at hand: st_ino and the type
    // alone.
    const Entry* entry = nullptr;
  };
  // Takes a name, or declines it: the listing then ends before it.
  using NameSink = std::function<bool(const Name&)>;

  // An open directory: where a listing stands. One thread at a time.
  class Listing {
   public:
    virtual ~Listing() = default;
    // Hands `sink` the names from `cookie` on (0: from the front; else one that was handed out)
    // until it declines one or there are no more. kTooLarge: there are more names than a listing
    // may give. An error may come after names were given; it comes again at the next call.
    virtual storage::Result<void> list(std::int64_t cookie, bool with_attributes,
                                       const NameSink& sink) = 0;
  };

  // What an open that took its time comes back with, exactly once.
  using OpenDone = std::function<void(storage::Result<std::unique_ptr<OpenFile>>)>;
  using OpenTicket = std::uint64_t;

  // `written`: the logs that are to be appended to, all through this one; null: nothing is written,
  // and there is no way to.
  FileSystem(std::shared_ptr<const storage::LogSource> source, const FileSystemOptions& options,
             LogSink log, std::shared_ptr<WrittenLogs> written = nullptr);
  ~FileSystem();
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;

  // From now on what was told and is not true any more is taken back from these caches, and so may
  // be told for longer. Before the first question.
  void take_back_from(std::unique_ptr<KernelCaches> caches);
  // Ends that, while questions are still being answered. stop() does it too.
  void stop_taking_back();

  // Counts a lookup of the node it returns; forget() takes it back if the entry could not be sent.
  storage::Result<Entry> lookup(std::uint64_t parent, std::string_view name);
  void forget(std::uint64_t ino, std::uint64_t lookups);
  // `file`: the open file that is asked about, if it is one (may be null).
  storage::Result<Attributes> getattr(std::uint64_t ino, const OpenFile* file = nullptr);
  // kIo with EACCES if the target tells of a log that `who` asks may not read: only where the
  // kernel checks modes (FileSystemOptions::default_permissions).
  using Who = std::function<User()>;
  storage::Result<std::string> readlink(std::uint64_t ino, const Who& who);

  // True if open() would scan: then use open_slowly(), which does it in a thread of the file
  // system's own. Several opens of one file wait for one scan.
  bool opens_slowly(std::uint64_t ino);
  storage::Result<std::unique_ptr<OpenFile>> open(std::uint64_t ino);
  // `done` is called from another thread, or from within cancel_open(), and never twice.
  OpenTicket open_slowly(std::uint64_t ino, OpenDone done);
  // Nobody waits any more: `done` is called with kIo and EINTR if it was not called yet.
  void cancel_open(OpenTicket ticket);
  // What a change of anything but `append` fails with: EROFS, or EPERM in a mount that appends.
  int refusal() const;
  // For writing alone. kIo with refusal() for all but `append` and `append.jsonl`. `is_durable`: of
  // O_SYNC and O_DSYNC, a write returns when it is on the disk.
  storage::Result<std::unique_ptr<OpenFile>> open_to_write(std::uint64_t ino, bool is_durable);
  // What O_TRUNC asks: taken, and without effect on `append`; kIo with refusal() for all else.
  storage::Result<Attributes> truncate(std::uint64_t ino, std::int64_t size_bytes);

  // Ends all scans, as cancel_open() does, and refuses new ones.
  void stop();

  storage::Result<std::unique_ptr<Listing>> open_directory(std::uint64_t ino);

  // Empty for all but plain records.
  storage::Result<std::vector<Xattr>> xattrs(std::uint64_t ino);

  // Counts what a file opened here gave, for `stats`.
  void note_read(std::size_t bytes);
  void note_write(std::size_t bytes);

  // Never waits for the source.
  Space space() const;

 private:
  class NumberedListing;
  struct Parts;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace offsetfs::fs
