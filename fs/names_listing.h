#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fs/directory_listing.h"

namespace offsetfs::fs {

// A directory whose names are few: all of them, as they were when it was opened.
class NamesListing : public DirectoryListing {
 public:
  struct Item {
    std::string name;
    Node node;
    mode_t type = 0;
  };

  explicit NamesListing(std::vector<Item> items) : items_(std::move(items)) {}

  storage::Result<void> list(std::int64_t cookie, bool, const ListedNameSink& sink) override {
    for (auto i = static_cast<std::size_t>(cookie); i < items_.size(); ++i) {
      const Item& item = items_[i];
      const auto next = static_cast<std::int64_t>(i) + 1;
      if (!sink({item.name, &item.node, item.type, next, nullptr})) break;
    }
    return {};
  }

 private:
  const std::vector<Item> items_;
};

}  // namespace offsetfs::fs
