#pragma once

#include <mutex>

// std::mutex with the annotations that clang's -Wthread-safety checks; other compilers see plain
// code. libstdc++'s own carries none.

#if defined(__clang__)
#define OFFSETFS_ATTRIBUTE(x) __attribute__((x))
#else
#define OFFSETFS_ATTRIBUTE(x)
#endif
#define GUARDED_BY(m) OFFSETFS_ATTRIBUTE(guarded_by(m))
#define REQUIRES(...) OFFSETFS_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) OFFSETFS_ATTRIBUTE(locks_excluded(__VA_ARGS__))

namespace offsetfs::storage {

class OFFSETFS_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  void lock() OFFSETFS_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() OFFSETFS_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  bool try_lock() OFFSETFS_ATTRIBUTE(try_acquire_capability(true)) { return mutex_.try_lock(); }

 private:
  std::mutex mutex_;
};

class OFFSETFS_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) OFFSETFS_ATTRIBUTE(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() OFFSETFS_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace offsetfs::storage
