#include "tests/support/temp_dir.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace offsetfs::tests {

TempDir::TempDir() {
  std::string path = (std::filesystem::temp_directory_path() / "offsetfs-test-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("no temporary directory");
  path_ = path;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TempDir::operator/(std::string_view below) const {
  return path_ + "/" + std::string(below);
}

void TempDir::write(std::string_view below, std::string_view content) const {
  const std::filesystem::path path = *this / below;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path.string());
}

void TempDir::make_dir(std::string_view below) const {
  std::filesystem::create_directories(*this / below);
}

}  // namespace offsetfs::tests
