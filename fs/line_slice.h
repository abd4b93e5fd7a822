#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace offsetfs::fs {

// Where lines too big to be made for every read of a part of them are kept for a while.
class BigLines {
 public:
  using Make = std::function<void(std::string&)>;

  virtual ~BigLines() = default;
  // The line of the record `ordinal` of the batch at hand, made now if it is not there. `size` is
  // known before.
  virtual std::shared_ptr<const std::string> get(std::int32_t ordinal, std::size_t size,
                                                 const Make& make) = 0;
  // That line if it is kept already; else null.
  virtual std::shared_ptr<const std::string> find(std::int32_t ordinal) = 0;
};

// The bytes at [from, to) of a stream, cut out of lines that come in order. Lines that lie behind
// `from` are appended by their maker straight to out(); skip() and take() are for the others. One
// thread.
class LineSlice {
 public:
  // `line_position`: where the first line that will come begins, at or before `from`.
  LineSlice(std::int64_t line_position, std::int64_t from, std::int64_t to, BigLines& big_lines,
            std::string& out)
      : at_(line_position),
        from_(from),
        to_(to),
        big_lines_(big_lines),
        out_(out),
        out_front_(out.size()) {}

  // Nothing of what comes is wanted any more.
  bool full() const { return at_ >= to_; }
  bool has_something() const { return at_ > from_; }
  std::int64_t at() const { return at_; }  // where the next line begins

  // A line begins here, made of the record at this place of its batch.
  void begin_line(std::uint32_t record_position, std::int32_t ordinal) {
    line_ = {at_, record_position, ordinal};
  }
  bool begins_before() const { return at_ < from_; }
  bool wants(std::size_t size) const { return at_ + static_cast<std::int64_t>(size) > from_; }
  void skip(std::size_t size) { at_ += static_cast<std::int64_t>(size); }
  // A whole line, of which what lies in the slice is kept.
  void take(std::string_view line);
  void take_big(std::size_t size, const BigLines::Make& make);
  // False: the line at hand is not kept. To know its size alone, all of a record is looked at.
  bool take_kept();
  // For a line that begins at or after `from`: append it to out(), then call appended().
  std::string& out() { return out_; }
  void appended() { at_ = from_ + static_cast<std::int64_t>(out_.size() - out_front_); }

  // Cuts off what went beyond `to`.
  void finish();

  struct Line {
    std::int64_t at = 0;
    std::uint32_t record_position = 0;
    std::int32_t ordinal = 0;
  };
  const Line& last_line() const { return line_; }

 private:
  std::int64_t at_;
  const std::int64_t from_;
  const std::int64_t to_;
  BigLines& big_lines_;
  std::string& out_;
  const std::size_t out_front_;
  Line line_;
};

}  // namespace offsetfs::fs
