#include "storage/io_priority.h"

#include <linux/ioprio.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace offsetfs::storage {
namespace {

constexpr int kIdle = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0);

thread_local int current = 0;

// glibc has no wrappers. 0: the calling thread.
bool set(int priority) { return ::syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, priority) == 0; }

}  // namespace

IdleIo::IdleIo(bool idle) : before_(idle && current != kIdle && set(kIdle) ? current : -1) {
  if (before_ >= 0) current = kIdle;
}

IdleIo::~IdleIo() {
  if (before_ < 0) return;
  set(before_);
  current = before_;
}

unsigned short io_priority() { return static_cast<unsigned short>(current); }

}  // namespace offsetfs::storage
