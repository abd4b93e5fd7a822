#include "mount/mounted.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

#include <fuse_lowlevel.h>
#include <pthread.h>

#include "fs/fuse_caches.h"
#include "fs/fuse_ops.h"
#include "mount/fuse_access.h"
#include "mount/init_reply.h"
#include "mount/libfuse_log.h"
#include "mount/mount_point.h"
#include "mount/read_ahead.h"

namespace offsetfs::mount {
namespace {

using storage::Errc;
using storage::fail;
using storage::Result;

// libfuse's list parser takes a backslash as an escape, and so can we.
std::string escaped_for_list(const std::string& value) {
  std::string escaped;
  for (const char c : value) {
    if (c == ',' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string session_options(const MountRequest& request) {
  std::string options = request.writable ? "rw" : "ro";
  options +=
      ",nosuid,nodev,noexec,subtype=offsetfs,fsname=" + escaped_for_list(request.shown_source);
  if (request.default_permissions || request.allow_other) options += ",default_permissions";
  if (request.allow_other) options += ",allow_other";
  return options;
}

class FuseArguments {
 public:
  explicit FuseArguments(const MountRequest& request) {
    add("offsetfs");
    add("-o");
    add(session_options(request));
    if (request.debug) add("-d");
  }
  ~FuseArguments() { ::fuse_opt_free_args(&args_); }
  FuseArguments(const FuseArguments&) = delete;
  FuseArguments& operator=(const FuseArguments&) = delete;
  fuse_args* get() { return &args_; }

 private:
  void add(const std::string& argument) {
    if (::fuse_opt_add_arg(&args_, argument.c_str()) != 0) throw std::bad_alloc();
  }
  fuse_args args_ = FUSE_ARGS_INIT(0, nullptr);
};

// The errors of libfuse as one of ours: "WHERE: can't mount: fuse: ...; CURE".
tl::unexpected<storage::Error> mount_failure(const std::string& mount_point,
                                             const std::string& said) {
  const auto cure = cure_for_mount_failure(said);
  return fail(Errc::kIo, mount_point +
                             ": can't mount: " + (said.empty() ? "libfuse gave no reason" : said) +
                             (cure.empty() ? "" : "; " + cure));
}

}  // namespace

// Ends libfuse's loop from outside of it. The loop's thread sleeps on a semaphore and looks at the
// session's exit flag only when it wakes, so a flag set just before it falls asleep would be lost:
// it is woken, by a signal that does nothing, until it has left.
class Mounted::Loop {
 public:
  explicit Loop(fuse_session* session) : session_(session) {
    struct sigaction action {};
    action.sa_handler = [](int) {};  // without SA_RESTART: sem_wait is to come back
    ::sigaction(kWake, &action, nullptr);
  }

  int run(int threads) {
    runner_ = ::pthread_self();
    state_ = State::kRunning;
    fuse_loop_config* config = ::fuse_loop_cfg_create();
    ::fuse_loop_cfg_set_max_threads(config, static_cast<unsigned>(threads));
    const int error = ::fuse_session_loop_mt(session_, config);
    ::fuse_loop_cfg_destroy(config);
    state_ = State::kLeft;
    return error;
  }

  void stop() {
    stopped_ = true;
    ::fuse_session_exit(session_);
    while (state_ == State::kRunning) {
      ::pthread_kill(runner_, kWake);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  bool is_stopped() const { return stopped_; }

 private:
  enum class State { kNotYet, kRunning, kLeft };
  static constexpr int kWake = SIGUSR1;

  fuse_session* const session_;
  pthread_t runner_{};  // written before state_ says kRunning
  std::atomic<State> state_ = State::kNotYet;
  std::atomic<bool> stopped_ = false;
};

Result<std::unique_ptr<Mounted>> Mounted::mount(fs::FileSystem& file_system,
                                                const MountRequest& request) {
  FuseArguments arguments(request);
  std::string said;
  bool is_mounted = false;
  std::unique_ptr<Mounted> mounted;
  {
    const CaughtStderr caught;
    fuse_session* session = ::fuse_session_new(arguments.get(), &fs::fuse_ops(),
                                               sizeof(fuse_lowlevel_ops), &file_system);
    if (session != nullptr) {
      mounted.reset(new Mounted(file_system, session, request.mount_point));
      is_mounted = ::fuse_session_mount(session, request.mount_point.c_str()) == 0;
    }
    said = caught.said();
  }
  if (!is_mounted) return mount_failure(request.mount_point, said);
  log_libfuse_messages();
  complete_init_reply(mounted->session_,
                      [where = request.mount_point] { widen_read_ahead(where); });
  file_system.take_back_from(fs::make_fuse_caches(mounted->session_));
  return mounted;
}

Mounted::Mounted(fs::FileSystem& file_system, fuse_session* session, std::string mount_point)
    : file_system_(file_system),
      session_(session),
      mount_point_(std::move(mount_point)),
      loop_(std::make_unique<Loop>(session)) {}

Mounted::~Mounted() {
  file_system_.stop();  // what still waits is answered as long as there is somebody to answer
  ::fuse_session_unmount(session_);
  ::fuse_session_destroy(session_);
}

Result<void> Mounted::serve(int threads) {
  const int error = loop_->run(threads);
  // To libfuse an aborted connection is an unmount (umount -f where a file is open): the mount
  // stays behind.
  if (error == 0 && !loop_->is_stopped() && detach_dead_mount(mount_point_))
    return fail(Errc::kIo, mount_point_ + ": the connection to the kernel was aborted; unmounted");
  if (error == 0) return {};
  return storage::fail_errno(error < 0 ? -error : EIO, "the connection to the kernel broke");
}

void Mounted::stop() {
  file_system_.stop_taking_back();  // it may wait for answers
  loop_->stop();
}

}  // namespace offsetfs::mount
