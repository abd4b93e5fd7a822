#pragma once

#include <string>
#include <string_view>

namespace offsetfs::tests {

// A directory of the test's own, removed with all it holds.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(std::string_view below) const;
  // Both make the directories on the way.
  void write(std::string_view below, std::string_view content) const;
  void make_dir(std::string_view below) const;

 private:
  std::string path_;
};

}  // namespace offsetfs::tests
