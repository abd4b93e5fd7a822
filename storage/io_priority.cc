#include "storage/io_priority.h"

#include <linux/ioprio.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace offsetfs::storage {
namespace {

constexpr int kIdle = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0);

thread_local int current = 0;  // what was set here

// glibc has no wrappers. 0: the calling thread.
bool set(int priority) { return ::syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, priority) == 0; }
int get() { return static_cast<int>(::syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0)); }

}  // namespace

IdleIo::IdleIo(bool idle) : before_(idle && current == 0 ? get() : -1) {
  if (before_ < 0) return;
  if (set(kIdle))
    current = kIdle;
  else
    before_ = -1;
}

IdleIo::~IdleIo() {
  if (before_ < 0) return;
  set(before_);
  current = 0;
}

unsigned short io_priority() { return static_cast<unsigned short>(current); }

}  // namespace offsetfs::storage
