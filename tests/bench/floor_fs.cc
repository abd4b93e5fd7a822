// A file system over libfuse's low-level API that does no work: the floor under what any FUSE file
// system can do. A request costs what kernel, wake-ups and libfuse cost, and nothing more.
//
//   floor_fs MOUNTPOINT [limit=N] [listed=N] [size=BYTES] [record=BYTES] [timeout=SECONDS]
//            [attr_timeout=SECONDS] [keep_cache=1] [read_ahead=BYTES] [threads=N]
//
//   MOUNTPOINT/offsets/N   `record` bytes, N a canonical decimal below limit; listed in order
//   MOUNTPOINT/seek/N      symbolic link to ../offsets/N
//   MOUNTPOINT/stream      `size` bytes of 100-byte lines, served from memory
//
// There is no table: a node's number is its kind and N, so every answer is computed from it alone.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fuse_lowlevel.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace offsetfs {
namespace {

struct Options {
  std::uint64_t limit = 1ULL << 40;
  std::uint64_t listed = 0;  // a listing ends after this many names; 0: limit
  std::uint64_t size = 1ULL << 30;
  std::uint64_t record = 205;
  double entry_timeout = 1e9;
  double attr_timeout = 1e9;
  bool keep_cache = false;
  unsigned read_ahead = 1U << 20;  // of the mount, bytes; 0: the kernel's default
  unsigned threads = 0;            // 0: libfuse's default
};
Options options;
std::string record_bytes;

// Two maps of the same memory in a row, so that any READ is one piece. A multiple of the page size
// and of the line length.
constexpr std::size_t kLineBytes = 100;
constexpr std::size_t kWindow = (100ULL << 20) / 4096 * 4096;
static_assert(kWindow % kLineBytes == 0 && kWindow % 4096 == 0);
const char* window = nullptr;

enum class Kind : std::uint64_t { kFixed, kRecord, kLink };
constexpr fuse_ino_t kRoot = FUSE_ROOT_ID;
constexpr fuse_ino_t kOffsets = 2;
constexpr fuse_ino_t kSeek = 3;
constexpr fuse_ino_t kStream = 4;
constexpr std::array<const char*, 3> kTop = {"offsets", "seek", "stream"};  // from kOffsets on
constexpr int kKindShift = 60;

constexpr fuse_ino_t node(Kind kind, std::uint64_t n) {
  return static_cast<std::uint64_t>(kind) << kKindShift | n;
}
constexpr Kind kind_of(fuse_ino_t ino) { return static_cast<Kind>(ino >> kKindShift); }
constexpr std::uint64_t number_of(fuse_ino_t ino) { return ino & ((1ULL << kKindShift) - 1); }

std::optional<std::uint64_t> canonical(std::string_view name) {
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), n);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  if ((name.size() > 1 && name[0] == '0') || n >= options.limit) return std::nullopt;
  return n;
}

struct stat attributes(fuse_ino_t ino) {
  struct stat st {};
  st.st_ino = ino;
  st.st_nlink = 1;
  st.st_uid = getuid();
  st.st_gid = getgid();
  st.st_mtime = st.st_ctime = st.st_atime = 1'790'000'000;
  if (kind_of(ino) == Kind::kRecord || ino == kStream) {
    st.st_mode = S_IFREG | 0444;
    st.st_size = static_cast<off_t>(ino == kStream ? options.size : options.record);
    st.st_blocks = (st.st_size + 511) / 512;
  } else if (kind_of(ino) == Kind::kLink) {
    st.st_mode = S_IFLNK | 0777;
    st.st_size = static_cast<off_t>(11 + std::to_string(number_of(ino)).size());
  } else {
    st.st_mode = S_IFDIR | 0555;
    st.st_nlink = 2;
  }
  return st;
}

fuse_entry_param entry_of(fuse_ino_t ino) {
  fuse_entry_param entry{};
  entry.ino = ino;
  entry.attr = attributes(ino);
  entry.attr_timeout = options.attr_timeout;
  entry.entry_timeout = options.entry_timeout;
  return entry;
}

fuse_ino_t find(fuse_ino_t parent, std::string_view name) {
  if (parent == kRoot) {
    const auto* const found = std::ranges::find(kTop, name);
    return found == kTop.end() ? 0 : kOffsets + static_cast<fuse_ino_t>(found - kTop.begin());
  }
  const auto n = canonical(name);
  if (!n) return 0;
  return node(parent == kOffsets ? Kind::kRecord : Kind::kLink, *n);
}

void on_lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  const fuse_ino_t ino = find(parent, name);
  if (ino == 0) {
    fuse_reply_err(request, ENOENT);
    return;
  }
  const fuse_entry_param entry = entry_of(ino);
  fuse_reply_entry(request, &entry);
}
void on_forget(fuse_req_t request, fuse_ino_t, std::uint64_t) { fuse_reply_none(request); }
void on_forget_multi(fuse_req_t request, std::size_t, fuse_forget_data*) {
  fuse_reply_none(request);
}
void on_getattr(fuse_req_t request, fuse_ino_t ino, fuse_file_info*) {
  const struct stat st = attributes(ino);
  fuse_reply_attr(request, &st, options.attr_timeout);
}
void on_readlink(fuse_req_t request, fuse_ino_t ino) {
  fuse_reply_readlink(request, ("../offsets/" + std::to_string(number_of(ino))).c_str());
}
void on_open(fuse_req_t request, fuse_ino_t ino, fuse_file_info* file) {
  file->noflush = 1;
  if (ino == kStream) file->keep_cache = options.keep_cache;
  fuse_reply_open(request, file);
}
void on_read(fuse_req_t request, fuse_ino_t ino, std::size_t size, off_t from, fuse_file_info*) {
  const auto at = static_cast<std::uint64_t>(from);
  const std::uint64_t length = ino == kStream ? options.size : options.record;
  if (at >= length) {
    fuse_reply_buf(request, nullptr, 0);
    return;
  }
  const char* data = ino == kStream ? window + at % kWindow : record_bytes.data() + at;
  fuse_reply_buf(request, data, std::min<std::uint64_t>(size, length - at));
}
void on_release(fuse_req_t request, fuse_ino_t, fuse_file_info*) { fuse_reply_err(request, 0); }
void on_opendir(fuse_req_t request, fuse_ino_t, fuse_file_info* file) {
  fuse_reply_open(request, file);
}

template <bool Plus>
void list(fuse_req_t request, fuse_ino_t dir, std::size_t size, off_t from) {
  static thread_local std::vector<char> buffer;  // the cookie of N is N + 1
  buffer.resize(std::max(buffer.size(), size));
  const std::uint64_t names = options.listed != 0 ? options.listed : options.limit;
  const std::uint64_t end = dir == kRoot ? kTop.size() : std::min(names, options.limit);
  std::size_t used = 0;
  for (auto n = static_cast<std::uint64_t>(from); n < end; ++n) {
    const std::string name = dir == kRoot ? kTop[n] : std::to_string(n);
    const fuse_ino_t ino = find(dir, name);
    std::size_t need = 0;
    const auto cookie = static_cast<off_t>(n + 1);
    if constexpr (Plus) {
      const fuse_entry_param entry = entry_of(ino);
      need =
          fuse_add_direntry_plus(request, &buffer[used], size - used, name.c_str(), &entry, cookie);
    } else {
      const struct stat st = attributes(ino);
      need = fuse_add_direntry(request, &buffer[used], size - used, name.c_str(), &st, cookie);
    }
    if (need > size - used) break;
    used += need;
  }
  fuse_reply_buf(request, buffer.data(), used);
}
void on_readdir(fuse_req_t request, fuse_ino_t ino, std::size_t size, off_t from, fuse_file_info*) {
  list<false>(request, ino, size, from);
}
void on_readdirplus(fuse_req_t request, fuse_ino_t ino, std::size_t size, off_t from,
                    fuse_file_info*) {
  list<true>(request, ino, size, from);
}

fuse_lowlevel_ops operations() {
  fuse_lowlevel_ops ops{};
  ops.lookup = on_lookup;
  ops.forget = on_forget;
  ops.forget_multi = on_forget_multi;
  ops.getattr = on_getattr;
  ops.readlink = on_readlink;
  ops.open = on_open;
  ops.read = on_read;
  ops.release = on_release;
  ops.opendir = on_opendir;
  ops.readdir = on_readdir;
  ops.readdirplus = on_readdirplus;
  ops.releasedir = on_release;
  return ops;
}

bool parse(std::string_view argument) {
  const auto equals = argument.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view name = argument.substr(0, equals);
  const double value = std::atof(std::string(argument.substr(equals + 1)).c_str());
  const auto whole = static_cast<std::uint64_t>(value);
  if (name == "limit") return options.limit = whole, true;
  if (name == "listed") return options.listed = whole, true;
  if (name == "size") return options.size = whole, true;
  if (name == "record") return options.record = whole, true;
  if (name == "timeout") return options.entry_timeout = options.attr_timeout = value, true;
  if (name == "attr_timeout") return options.attr_timeout = value, true;
  if (name == "keep_cache") return options.keep_cache = value != 0, true;
  if (name == "read_ahead") return options.read_ahead = static_cast<unsigned>(whole), true;
  if (name == "threads") return options.threads = static_cast<unsigned>(whole), true;
  return false;
}

bool make_content() {
  record_bytes.assign(options.record, 'x');
  const int fd = memfd_create("stream", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, kWindow) != 0) return false;
  void* room = mmap(nullptr, 2 * kWindow, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return false;
  char* base = static_cast<char*>(room);
  for (std::size_t half = 0; half < 2; ++half)
    if (mmap(base + half * kWindow, kWindow, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
             0) == MAP_FAILED)
      return false;
  for (std::size_t i = 0; i < kWindow; ++i)
    base[i] = i % kLineBytes == kLineBytes - 1 ? '\n' : static_cast<char>('a' + i % 26);
  window = base;
  return true;
}

// The kernel caps the read-ahead that INIT asks for at its default, so a larger one is set
// afterwards, from a process of its own: stat() needs the loop to run.
void set_read_ahead(const char* mountpoint) {
  struct stat st {};
  if (stat(mountpoint, &st) != 0) return;
  const std::string path = "/sys/class/bdi/" + std::to_string(st.st_dev >> 8) + ":" +
                           std::to_string(st.st_dev & 0xff) + "/read_ahead_kb";
  if (std::FILE* file = std::fopen(path.c_str(), "w")) {
    std::fprintf(file, "%u", options.read_ahead / 1024);
    std::fclose(file);
  }
}

int serve(const char* mountpoint) {
  const fuse_lowlevel_ops ops = operations();
  char name[] = "floor_fs";
  char mount_options[] = "-ofsname=floor_fs,subtype=floor_fs,ro";
  char* words[] = {name, mount_options, nullptr};
  fuse_args arguments = FUSE_ARGS_INIT(2, words);
  fuse_session* session = fuse_session_new(&arguments, &ops, sizeof ops, nullptr);
  if (session == nullptr || fuse_set_signal_handlers(session) != 0 ||
      fuse_session_mount(session, mountpoint) != 0)
    return 1;
  if (options.read_ahead != 0 && fork() == 0) {
    close(fuse_session_fd(session));
    set_read_ahead(mountpoint);
    _exit(0);
  }
  fuse_loop_config* config = fuse_loop_cfg_create();
  if (options.threads != 0) fuse_loop_cfg_set_max_threads(config, options.threads);
  const int result = fuse_session_loop_mt(session, config);
  fuse_loop_cfg_destroy(config);
  fuse_session_unmount(session);
  fuse_remove_signal_handlers(session);
  fuse_session_destroy(session);
  return result < 0 ? 1 : 0;
}

}  // namespace
}  // namespace offsetfs

int main(int argc, char** argv) {
  using namespace offsetfs;
  if (argc < 2) {
    std::fprintf(stderr,
                 "usage: floor_fs MOUNTPOINT [NAME=VALUE ...]; see the top of floor_fs.cc\n");
    return 2;
  }
  for (int i = 2; i < argc; ++i)
    if (!parse(argv[i])) {
      std::fprintf(stderr, "floor_fs: no such option: %s\n", argv[i]);
      return 2;
    }
  if (!make_content()) {
    std::perror("floor_fs");
    return 1;
  }
  return serve(argv[1]);
}
