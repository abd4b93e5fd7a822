#pragma once

namespace offsetfs::storage {

// preadv2's RWF_DONTCACHE, Linux 6.14: drop what the read brought in. Not in the headers we build
// on.
inline constexpr int kRwfDontcache = 0x80;

}  // namespace offsetfs::storage
