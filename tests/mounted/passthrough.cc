// A file system below the one under test that can be stopped: shows a directory as it is, read
// only, and keeps nothing in the kernel, so that each call is its process's to answer. With
// PASSTHROUGH_DELAY_MS in the environment each look at attributes takes so long.
//
//   passthrough DIRECTORY MOUNTPOINT -f

#define FUSE_USE_VERSION 35

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>

#include <dirent.h>
#include <fcntl.h>
#include <fuse.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

std::string& shown() {
  static std::string directory;
  return directory;
}
std::string at(const char* path) { return shown() + path; }
std::chrono::milliseconds& delay() {
  static std::chrono::milliseconds delay{};
  return delay;
}
int result(long returned) { return returned < 0 ? -errno : 0; }

void* init(fuse_conn_info*, fuse_config* config) {
  config->direct_io = 1;
  config->use_ino = 1;
  config->entry_timeout = config->attr_timeout = config->negative_timeout = 0;
  return nullptr;
}

int getattr(const char* path, struct stat* st, fuse_file_info*) {
  std::this_thread::sleep_for(delay());
  return result(::lstat(at(path).c_str(), st));
}

int open(const char* path, fuse_file_info* info) {
  const int fd = ::open(at(path).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  info->fh = static_cast<std::uint64_t>(fd);
  return 0;
}

int read(const char*, char* buffer, std::size_t size, off_t position, fuse_file_info* info) {
  const ssize_t got = ::pread(static_cast<int>(info->fh), buffer, size, position);
  return got < 0 ? -errno : static_cast<int>(got);
}

int release(const char*, fuse_file_info* info) {
  return result(::close(static_cast<int>(info->fh)));
}

int readdir(const char* path, void* buffer, fuse_fill_dir_t fill, off_t, fuse_file_info*,
            fuse_readdir_flags) {
  DIR* const dir = ::opendir(at(path).c_str());
  if (dir == nullptr) return -errno;
  while (const dirent* const entry = ::readdir(dir)) {
    struct stat st {};
    st.st_ino = entry->d_ino;
    st.st_mode = static_cast<mode_t>(entry->d_type) << 12;
    fill(buffer, entry->d_name, &st, 0, static_cast<fuse_fill_dir_flags>(0));
  }
  ::closedir(dir);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 1;
  shown() = arguments[1];
  if (const char* const ms = std::getenv("PASSTHROUGH_DELAY_MS")) {
    delay() = std::chrono::milliseconds(std::atoi(ms));
  }
  arguments[1] = arguments[0];
  fuse_operations operations{};
  operations.init = init;
  operations.getattr = getattr;
  operations.open = open;
  operations.read = read;
  operations.release = release;
  operations.readdir = readdir;
  return ::fuse_main(count - 1, arguments + 1, &operations, nullptr);
}
