#include <algorithm>
#include <memory>
#include <new>

#include <zstd.h>
#include <zstd_errors.h>

#include "storage/check.h"
#include "storage/codec_output.h"

namespace offsetfs::storage {
namespace {

struct Free {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

// A context takes 160 KiB and, while it works, the window that the frame names (2 MiB for what
// Kafka writes by default): kept for the next batch of the thread, unless it grew beyond this.
constexpr std::size_t kKeptContextBytes = 9U << 20;

using Decompressor = std::unique_ptr<ZSTD_DCtx, Free>;
Decompressor& decompressor() {
  thread_local Decompressor context;
  if (context != nullptr && ZSTD_sizeof_DCtx(context.get()) > kKeptContextBytes) context.reset();
  if (context == nullptr) context.reset(ZSTD_createDCtx());
  if (context == nullptr) throw std::bad_alloc();
  ZSTD_DCtx_reset(context.get(), ZSTD_reset_session_only);
  return context;
}

// Records shrink to a third or so; what a frame says of itself is believed up to a sixteenth.
std::size_t first_guess(Bytes compressed) {
  const std::size_t believable = compressed.size() * 16 + 4096;
  const unsigned long long claimed = ZSTD_getFrameContentSize(compressed.data(), compressed.size());
  const bool known = claimed != ZSTD_CONTENTSIZE_UNKNOWN && claimed != ZSTD_CONTENTSIZE_ERROR;
  if (known) return static_cast<std::size_t>(std::min<unsigned long long>(claimed, believable));
  return compressed.size() * 4 + 4096;
}

Errc code_of(std::size_t error) {
  switch (ZSTD_getErrorCode(error)) {
    case ZSTD_error_frameParameter_windowTooLarge: return Errc::kTooLarge;  // beyond 128 MiB
    case ZSTD_error_dictionary_wrong:
    case ZSTD_error_frameParameter_unsupported: return Errc::kUnsupported;
    default: return Errc::kCorrupt;
  }
}

}  // namespace

Result<void> unzstd(Bytes compressed, CodecOutput& out) {
  ZSTD_DCtx* const context = decompressor().get();
  ZSTD_inBuffer in{compressed.data(), compressed.size(), 0};
  std::size_t least = first_guess(compressed);
  std::size_t wanted = 0;  // 0: a frame is finished and given out whole
  while (in.pos < in.size || wanted != 0) {
    const std::span<char> room = out.room(std::max<std::size_t>(least, 1));
    least = 1;
    ZSTD_outBuffer chunk{room.data(), room.size(), 0};
    const std::size_t consumed_before = in.pos;
    wanted = ZSTD_decompressStream(context, &chunk, &in);
    if (ZSTD_isError(wanted)) return fail(code_of(wanted), ZSTD_getErrorName(wanted));
    if (chunk.pos == 0 && in.pos == consumed_before)
      return fail(Errc::kCorrupt, "ends within a frame");
    RETURN_IF_ERROR(out.produced(chunk.pos));
  }
  return {};
}

void append_zstd(Bytes bytes, std::string& out) {
  thread_local const std::unique_ptr<ZSTD_CCtx, Free> context(ZSTD_createCCtx());
  if (context == nullptr) throw std::bad_alloc();
  // Kafka compresses as a stream and so knows no content size; ours look the same.
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, ZSTD_CLEVEL_DEFAULT);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_contentSizeFlag, 0);
  const std::size_t before = out.size();
  out.resize(before + ZSTD_compressBound(bytes.size()));
  const std::size_t written = ZSTD_compress2(context.get(), out.data() + before,
                                             out.size() - before, bytes.data(), bytes.size());
  CHECK(!ZSTD_isError(written));
  out.resize(before + written);
}

}  // namespace offsetfs::storage
