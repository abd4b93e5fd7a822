#pragma once

#include <stdexcept>

#include <sys/resource.h>

namespace offsetfs::tests {

// While one lives, the process gets no descriptor at or above `limit`.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t limit) {
    if (::getrlimit(RLIMIT_NOFILE, &before_) != 0) throw std::runtime_error("getrlimit");
    rlimit few = before_;
    few.rlim_cur = limit;
    if (::setrlimit(RLIMIT_NOFILE, &few) != 0) throw std::runtime_error("setrlimit");
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
};

}  // namespace offsetfs::tests
