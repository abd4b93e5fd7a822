#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include <sys/types.h>

#include "fs/node.h"
#include "fs/node_facts.h"
#include "storage/result.h"

namespace offsetfs::fs {

// One name of a directory; valid during the call.
struct ListedName {
  std::string_view name;
  const Node* node = nullptr;
  mode_t type = 0;
  std::int64_t cookie = 0;           // where a listing goes on behind it; never 0
  const NodeFacts* facts = nullptr;  // where they were asked for and are at hand
};

// Takes a name, or declines it: the listing then ends before it.
using ListedNameSink = std::function<bool(const ListedName&)>;

// An open directory. One thread at a time.
class DirectoryListing {
 public:
  virtual ~DirectoryListing() = default;

  // The names from `cookie` on: 0 is the front, else that of a name that was given. An error may
  // come after names; it comes again to who goes on from there.
  virtual storage::Result<void> list(std::int64_t cookie, bool with_facts,
                                     const ListedNameSink& sink) = 0;
};

}  // namespace offsetfs::fs
