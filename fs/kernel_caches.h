#pragma once

#include <cstdint>
#include <string>

namespace offsetfs::fs {

// What the kernel keeps of a mount, as one who may take it back. A call may wait for requests that
// are being answered: so it is made from a thread of its own, which holds no lock that an answer
// needs. What the kernel does not have is no error.
class KernelCaches {
 public:
  virtual ~KernelCaches() = default;

  // The name, what it led to, and all names below it: they are looked up anew.
  virtual void forget_name(std::uint64_t directory, const std::string& name) = 0;
  // Size, times and modes.
  virtual void forget_attributes(std::uint64_t ino) = 0;
  // These, and all bytes.
  virtual void forget_content(std::uint64_t ino) = 0;
};

}  // namespace offsetfs::fs
