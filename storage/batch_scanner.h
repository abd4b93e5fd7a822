#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "storage/batch_header.h"
#include "storage/file.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::storage {

// Walks the batches of a `.log` in file order, from a batch boundary to a limit, reading ahead in
// large pieces through the File. One thread. Memory: the piece size, or the largest batch.
//
// A torn tail is an end; damage is not. The tail is torn where fewer bytes are left than a batch
// needs, where only zeros are left up to the end of the file (a preallocated `.log`), and, on a
// living file, where the very last batch of the file has a bad CRC (`tail_may_be_torn`): it is
// still being written. A magic that no Kafka has yet written is never a torn tail: kUnsupported.
//
// A living file's zeros are followed for one piece only: brokers append, so nothing lies behind
// them, and a preallocated gigabyte isn't read through at every look.
class BatchScanner {
 public:
  enum class Step {
    kBatch,     // `batch()` holds it
    kEnd,       // the limit was reached, exactly at a batch boundary
    kTornTail,  // what follows is no whole batch: the log ends at position()
    kDamaged,   // `error()` says what; resume_at(damage_end()) goes on behind it if that is known
    kIo,        // `error()` says what; the read failed
  };
  struct Options {
    bool check_crc = true;
    bool headers_only = false;     // don't read the bodies; entry is empty and no CRC is checked
    bool tail_may_be_torn = true;  // false for a sealed segment: then a batch that is cut off or
                                   // bad at the end is damage; zeros up to the end still are none
    // Of the segment: then a batch that lies out of line (batch_order.h) is damage. `expected`: the
    // next_offset of the batch before `from`, where that is known.
    std::optional<Offset> segment_base_offset = {};
    std::optional<Offset> expected = {};
    std::size_t piece_bytes = 1U << 20;
    std::int64_t max_batch_bytes = 256LL << 20;  // a larger batch is refused (kTooLarge), not read
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
  // Goes on at another batch boundary; next() without it says the same again.
  void resume_at(Position position);

 private:
  // Bytes at `from`: `want` of them or more, fewer only where the file ends early. Precondition:
  // from + want <= limit.
  Result<Bytes> window(Position from, std::int64_t want);
  Result<void> move_piece_to(Position from, std::size_t size);
  std::size_t piece_to_read(Position from, std::int64_t want);
  bool lies_in_line();
  Result<bool> read_next(BatchHeader& next) const;
  Step out_of_line();
  Step read_body();
  Step bad_header(std::string why);
  Step bad_crc(std::uint32_t computed);
  Step zeros();
  Step cut_off(std::int64_t needed, std::int64_t found);
  Step damaged(Errc code, const std::string& why);
  Step failed(Error error);
  Result<bool> only_zeros_from(Position from);
  bool plausible_at(Position position);

  const File& file_;
  const Position limit_;
  const Options options_;
  Position position_;
  std::optional<Offset> expected_;
  Batch batch_;
  Error error_;
  Position damage_end_{-1};
  // What was read last: [piece_position_, + piece_size_) of the file.
  std::unique_ptr<char[]> piece_;
  std::size_t piece_capacity_ = 0;
  Position piece_position_{};
  std::size_t piece_size_ = 0;
  std::size_t headers_piece_ = 0;  // headers_only: how much to read at once
};

}  // namespace offsetfs::storage
