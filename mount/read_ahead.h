#pragma once

#include <string>

namespace offsetfs::mount {

// Lets the kernel read further ahead in the files of a mount than the 128 KiB that INIT can ask
// for: a stream that is read to its end then costs a quarter of the requests, and two threads at a
// time make it. Only root may; where that is not granted all works as well, only slower. Not before
// INIT was answered: the kernel sets its own value then.
void widen_read_ahead(const std::string& mount_point);

}  // namespace offsetfs::mount
