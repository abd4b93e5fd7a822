#pragma once

#include "storage/unique_fd.h"

namespace offsetfs::mount {

// Going to the background, told so late that whoever waits for the command knows that the mount
// works. The process forks before it starts anything that a fork would lose (threads, rings); the
// child does the work, and the parent waits until the child says `ready` or ends.
class Background {
 public:
  // Returns in the child only. The parent leaves the program from here: with 0 at ready(), else
  // with the child's exit code. The child keeps terminal and stderr until ready(), so that its
  // messages are seen and Ctrl-C still reaches it.
  static Background enter();
  Background() = default;  // stays in the foreground: ready() does nothing

  // Leaves terminal, working directory and the standard streams. False: nobody waits any more.
  bool ready();

 private:
  storage::UniqueFd to_parent_;
};

}  // namespace offsetfs::mount
