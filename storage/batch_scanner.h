#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/batch_header.h"
#include "storage/file.h"
#include "storage/units.h"

namespace offsetfs::storage {

// Walks the batches of a `.log` in file order, from a batch boundary to a limit, reading ahead in
// large pieces through the File. One thread. Memory: the piece size, or the largest batch.
//
// A torn tail is an end; damage is not. The tail is torn where fewer bytes are left than a batch
// needs, where only zeros are left up to the end of the file (a preallocated `.log`), and, on a
// living file, where the very last batch of the file has a bad CRC (`tail_may_be_torn`): it is still
// being written.
class BatchScanner {
 public:
  enum class Step {
    kBatch,    // `batch()` holds it
    kEnd,      // the limit was reached, exactly at a batch boundary
    kTornTail, // what follows is no whole batch: the log ends at position()
    kDamaged,  // `error()` says what; skip_damage() goes on behind it if that can be known
    kIo,       // `error()` says what; the read failed
  };
  struct Options {
    bool check_crc = true;
    bool headers_only = false;      // don't read the bodies; entry is empty and no CRC is checked
    bool tail_may_be_torn = true;   // false for a sealed segment: then a bad last batch is damage
    std::size_t piece_bytes = 1U << 20;
  };
  struct Batch {
    BatchHeader header;
    Position position{};
    Bytes entry;  // the whole batch; valid until the next call
  };

  // [from, limit): `limit` is the file's size when the caller looked. The file must outlive this.
  BatchScanner(const File& file, Position from, Position limit, Options options);
  BatchScanner(const File& file, Position from, Position limit)
      : BatchScanner(file, from, limit, Options{}) {}

  Step next();
  const Batch& batch() const { return batch_; }
  // Where the next batch begins, or where the walk ended.
  Position position() const { return position_; }
  const Error& error() const { return error_; }

  // After kDamaged: how far the damage is known to reach: the end of the batch whose CRC is bad, if
  // a plausible header follows there (or the limit); otherwise -1 (the length itself can't be
  // believed, and only an index or a search can tell where to go on).
  Position damage_end() const { return damage_end_; }
  void resume_at(Position position);

 private:
  Bytes window(Position from, std::size_t want);  // bytes at `from`, as many as could be had
  Step damaged(std::string why);

  const File& file_;
  const Position limit_;
  const Options options_;
  Position position_;
  Batch batch_;
  Error error_;
  Position damage_end_{-1};
  std::vector<char> piece_;
  Position piece_position_{};
  std::size_t piece_size_ = 0;
};

}  // namespace offsetfs::storage
