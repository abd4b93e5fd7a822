#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

// Failures are values. An end (of a file, of a log) is no failure and has no place here.

namespace offsetfs::storage {

enum class Errc {
  kIo,           // the kernel said no: see sys_errno
  kNotFound,     // nothing of that name, offset or time
  kCorrupt,      // bytes that break the format: a bad CRC, an impossible length
  kUnsupported,  // well-formed, but of a kind this program does not know (magic, codec, version)
  kTooLarge,     // beyond a limit that protects the process (decompressed size)
  kOutOfRange,   // truncated away, or passed by retention, under a reader
  kInvalid,      // what the user asked for makes no sense (options, names)
  kBusy,         // held by somebody else (a lock)
  kReadOnly,     // a change to what is only read
};

struct Error {
  Errc code = Errc::kIo;
  int sys_errno = 0;  // for kIo: what the kernel said
  std::string what;   // file, position, expected and found; built only when something failed
};

// tl::expected has no [[nodiscard]]; with this a dropped error is a warning.
template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
  Result(tl::expected<T, Error> other) : tl::expected<T, Error>(std::move(other)) {}  // NOLINT
};

// `return fail(Errc::kCorrupt, "orders-3/...log: ...");` from any function that returns a Result.
inline tl::unexpected<Error> fail(Errc code, std::string what) {
  return tl::unexpected<Error>(Error{code, 0, std::move(what)});
}
inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }
// "<what>: <strerror(sys_errno)>". ENOENT and ENOTDIR become kNotFound, all else kIo.
tl::unexpected<Error> fail_errno(int sys_errno, const std::string& what);

}  // namespace offsetfs::storage

// The only macros that hide control flow.
#define OFFSETFS_CONCAT_(a, b) a##b
#define OFFSETFS_CONCAT(a, b) OFFSETFS_CONCAT_(a, b)
#define RETURN_IF_ERROR(expression)                                                    \
  do {                                                                                 \
    if (auto returned_ = (expression); !returned_)                                     \
      return ::offsetfs::storage::fail(std::move(returned_.error()));                  \
  } while (false)
#define ASSIGN_OR_RETURN(declaration, expression) \
  ASSIGN_OR_RETURN_(OFFSETFS_CONCAT(result_, __LINE__), declaration, expression)
#define ASSIGN_OR_RETURN_(result, declaration, expression)                          \
  auto result = (expression);                                                       \
  if (!result) return ::offsetfs::storage::fail(std::move(result.error()));         \
  declaration = std::move(*result)
