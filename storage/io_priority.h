#pragma once

namespace offsetfs::storage {

// While one lives, what this thread reads from a disk waits until nobody else wants the disk
// (ioprio class idle; it works with the schedulers bfq and mq-deadline, the others pass over it).
// For scans beside a broker at work. A kernel that refuses changes nothing.
class IdleIo {
 public:
  explicit IdleIo(bool idle);
  ~IdleIo();
  IdleIo(const IdleIo&) = delete;
  IdleIo& operator=(const IdleIo&) = delete;

 private:
  int before_;  // the thread's own; -1: nothing was changed
};

// For a read that another thread, or the kernel's, does on behalf of this one: what it would have
// here, in the form that io_uring takes; 0: nothing was set.
unsigned short io_priority();

}  // namespace offsetfs::storage
