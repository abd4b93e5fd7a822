#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>

#include "storage/units.h"

namespace offsetfs::storage {

// Bytes with an owner, that are written once and then read. A std::string would be filled with
// zeros first, which for a large batch costs as much as reading it.
class OwnedBytes {
 public:
  OwnedBytes() = default;
  // Their content is undefined until written.
  explicit OwnedBytes(std::size_t size)
      : bytes_(std::make_unique_for_overwrite<char[]>(size)), size_(size), capacity_(size) {}
  explicit OwnedBytes(Bytes copied) : OwnedBytes(copied.size()) {
    if (!copied.empty()) std::memcpy(bytes_.get(), copied.data(), copied.size());
  }

  Bytes view() const { return {bytes_.get(), size_}; }
  std::span<char> writable() { return {bytes_.get(), size_}; }
  char* data() { return bytes_.get(); }
  const char* data() const { return bytes_.get(); }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  // Precondition: size <= capacity().
  void resize(std::size_t size) { size_ = size; }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace offsetfs::storage
