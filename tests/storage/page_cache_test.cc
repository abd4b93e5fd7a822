#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <random>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "storage/page_window.h"
#include "storage/pages.h"
#include "storage/pread_file.h"
#include "storage/ring_file.h"
#include "storage/unique_fd.h"
#include "tests/support/refused_syscall.h"
#include "tests/support/temp_dir.h"

// Reading a source must leave the page cache as it was: what was cached stays, what was not goes
// again, read-ahead included. Over both backends, with RWF_DONTCACHE and as on an older kernel.

namespace offsetfs::storage {
namespace {

using Residency = std::vector<bool>;

constexpr std::size_t kFileBytes = std::size_t{32} << 20;

// Every 8 bytes say where they are.
std::uint64_t word_at(std::size_t position) { return position * 0x9e3779b97f4a7c15ULL; }

Residency residency(int fd) {
  std::vector<unsigned char> pages(kFileBytes / page_bytes());
  void* const address = ::mmap(nullptr, kFileBytes, PROT_READ, MAP_SHARED, fd, 0);
  if (address == MAP_FAILED || ::mincore(address, kFileBytes, pages.data()) != 0) {
    throw std::runtime_error("cannot look at the page cache");
  }
  ::munmap(address, kFileBytes);
  Residency resident;
  for (const auto page : pages) resident.push_back((page & 1) != 0);
  return resident;
}

// "+[from,to)" for pages that came, "-[from,to)" for pages that went.
std::string difference(const Residency& before, const Residency& after) {
  std::string text;
  for (std::size_t page = 0; page < before.size(); ++page) {
    if (before[page] == after[page]) continue;
    const auto from = page;
    while (page < before.size() && before[page] != after[page]) ++page;
    text +=
        (before[from] ? " -[" : " +[") + std::to_string(from) + "," + std::to_string(page) + ")";
  }
  return text;
}

struct Way {
  const char* name;
  bool ring;
  bool dontcache;
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

class PageCacheTest : public testing::TestWithParam<Way> {
 protected:
  static void SetUpTestSuite() {
    temp_ = new tests::TempDir;
    std::string bytes(kFileBytes, '\0');
    for (std::size_t i = 0; i < kFileBytes; i += 8) {
      const auto word = word_at(i);
      std::memcpy(bytes.data() + i, &word, sizeof word);
    }
    temp_->write("a.log", bytes);
    const auto fd = open_raw();
    ::fsync(fd.get());  // a dirty page cannot be dropped
  }
  static void TearDownTestSuite() {
    delete temp_;
    temp_ = nullptr;
  }

  void SetUp() override {
    struct statfs fs {};
    ASSERT_EQ(::fstatfs(raw_.get(), &fs), 0);
    if (fs.f_type == TMPFS_MAGIC) GTEST_SKIP() << "on tmpfs there is nothing but the page cache";
    make_io();
  }

  // A ring belongs to the process that made it: another one can neither use nor end it.
  void make_io() {
    if (io_) new std::shared_ptr<const IoBackend>(io_);
    if (!GetParam().ring) {
      io_ = std::make_shared<PreadBackend>(GetParam().dontcache);
      return;
    }
    auto ring = RingBackend::create(GetParam().dontcache);
    ASSERT_TRUE(ring) << ring.error().what;
    io_ = *ring;
  }

  static UniqueFd open_raw() {
    return UniqueFd(::open((*temp_ / "a.log").c_str(), O_RDONLY | O_CLOEXEC));
  }
  std::unique_ptr<File> open() { return io_->adopt(open_raw().release(), "a.log"); }

  void drop_all() { ::posix_fadvise(raw_.get(), 0, 0, POSIX_FADV_DONTNEED); }

  // As another process would read: with read-ahead, which leaves its marks.
  void somebody_reads(std::size_t from, std::size_t to) {
    const auto fd = open_raw();
    std::vector<char> buffer(128 << 10);
    for (; from < to; from += buffer.size()) {
      ASSERT_GT(::pread(fd.get(), buffer.data(), std::min(buffer.size(), to - from),
                        static_cast<off_t>(from)),
                0);
    }
  }

  // What is still being read ahead is not there yet.
  Residency settled() {
    Residency last = residency(raw_.get());
    for (int equal = 0; equal < 3;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      auto now = residency(raw_.get());
      equal = now == last ? equal + 1 : 0;
      last = std::move(now);
    }
    return last;
  }

  void expect_content(std::size_t from, std::span<const char> bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const auto word = word_at((from + i) / 8 * 8);
      char expected;
      std::memcpy(&expected, reinterpret_cast<const char*>(&word) + (from + i) % 8, 1);
      if (bytes[i] != expected) FAIL() << "wrong byte at " << from + i;
    }
  }

  void read(const File& file, std::size_t from, std::size_t size) {
    std::vector<char> buffer(size);
    const auto got = file.read_at(Position{static_cast<std::int64_t>(from)}, buffer);
    ASSERT_TRUE(got) << got.error().what;
    ASSERT_EQ(*got, std::min(size, kFileBytes - from));
    expect_content(from, std::span(buffer).first(*got));
  }

  void read_whole(const File& file, std::size_t piece) {
    for (std::size_t from = 0; from < kFileBytes; from += piece) read(file, from, piece);
  }

  void read_here_and_there(const File& file) {
    for (std::size_t from = 0; from < kFileBytes; from += 317'011) read(file, from, 5000);
  }

  void read_many(const File& file, std::mt19937& random) {
    std::vector<std::vector<char>> buffers(20);
    std::vector<File::Read> reads;
    for (auto& buffer : buffers) {
      buffer.resize(random() % 100'000);
      reads.push_back({Position{static_cast<std::int64_t>(random() % kFileBytes)}, buffer});
    }
    ASSERT_TRUE(file.read_many(reads));
    for (const auto& one : reads) {
      const auto from = static_cast<std::size_t>(one.position.value);
      ASSERT_EQ(one.bytes_read, std::min(one.buffer.size(), kFileBytes - from));
      expect_content(from, one.buffer.first(one.bytes_read));
    }
  }

  void read_where_refused(long syscall_number, int sys_errno) {
    EXPECT_TRUE(tests::holds_where_refused(syscall_number, sys_errno, [&] {
      make_io();
      read_here_and_there(*open());
      return !HasFailure();
    }));
  }

  // The kernel may take pages for itself at any time, and then some are missing that we did not
  // drop: so what goes must go each time. What comes was brought by us.
  enum class Allowed { kNothing, kMore };
  void expect_unchanged(const std::function<void()>& prepare, const std::function<void()>& act,
                        Allowed allowed = Allowed::kNothing) {
    std::string changed;
    for (int attempt = 0; attempt < 5; ++attempt) {
      drop_all();
      prepare();
      const auto before = settled();
      act();
      if (HasFailure()) return;
      changed = difference(before, settled());
      const bool came = changed.find('+') != std::string::npos;
      const bool went = changed.find('-') != std::string::npos;
      if (!went && (!came || allowed == Allowed::kMore)) return;
      if (came && allowed == Allowed::kNothing) break;
    }
    ADD_FAILURE() << "the page cache changed:" << changed;
  }

  static tests::TempDir* temp_;
  const UniqueFd raw_ = open_raw();
  std::shared_ptr<const IoBackend> io_;
};
tests::TempDir* PageCacheTest::temp_ = nullptr;

INSTANTIATE_TEST_SUITE_P(Ways, PageCacheTest,
                         testing::Values(Way{"io_uring", true, true}, Way{"pread", false, true},
                                         Way{"io_uring_without_dontcache", true, false},
                                         Way{"pread_without_dontcache", false, false}),
                         [](const auto& way) { return way.param.name; });

TEST_P(PageCacheTest, AColdFileIsColdAfterwards) {
  expect_unchanged([] {},
                   [&] {
                     const auto file = open();
                     read_whole(*file, std::size_t{1} << 20);
                     read_whole(*file, std::size_t{5} << 20);
                     read_here_and_there(*file);
                   });
}

TEST_P(PageCacheTest, ACachedFileStaysCached) {
  expect_unchanged([&] { somebody_reads(0, kFileBytes); },
                   [&] {
                     const auto file = open();
                     read_whole(*file, std::size_t{1} << 20);
                     read_here_and_there(*file);
                   });
}

TEST_P(PageCacheTest, AHalfCachedFileStaysHalfCached) {
  const auto half_is_read = [&] { somebody_reads(0, kFileBytes / 2); };
  // Page by page up to the last cached one and across it: the marks of the read-ahead lie there.
  expect_unchanged(half_is_read, [&] {
    const auto file = open();
    for (std::size_t from = 100; from < kFileBytes; from += page_bytes()) read(*file, from, 50);
  });
  expect_unchanged(half_is_read, [&] { read_whole(*open(), std::size_t{1} << 20); });
}

TEST_P(PageCacheTest, AnyPatternStaysAsItWas) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  for (unsigned round = 0; round < 5; ++round) {
    expect_unchanged(
        [&] {
          std::mt19937 random(seed + round);
          for (int i = 0; i < 20; ++i) {
            const auto from = random() % kFileBytes;
            somebody_reads(from, std::min<std::size_t>(from + random() % 300'000, kFileBytes));
          }
          for (int i = 0; i < 20; ++i) {  // holes in what they read ahead
            ::posix_fadvise(raw_.get(), static_cast<off_t>(random() % kFileBytes),
                            static_cast<off_t>(random() % 500'000), POSIX_FADV_DONTNEED);
          }
        },
        [&] {
          std::mt19937 random(seed - round);
          const auto file = open();
          for (int i = 0; i < 100; ++i) read(*file, random() % kFileBytes, 1 + random() % 200'000);
          read_many(*file, random);
        });
  }
}

TEST_P(PageCacheTest, ThreadsThatReadTheSamePagesLeaveNone) {
  expect_unchanged([] {},
                   [&] {
                     const auto file = open();
                     std::vector<std::thread> threads;
                     for (unsigned t = 0; t < 4; ++t) {
                       threads.emplace_back([&, t] {
                         std::mt19937 random(t);
                         for (int i = 0; i < 200; ++i) read(*file, random() % 500'000, 20'000);
                       });
                     }
                     for (auto& thread : threads) thread.join();
                   });
}

// Whoever neither owns a file nor may write it is not told what is cached: all looks cached.
TEST_P(PageCacheTest, WhoMayNotLookStillReadsAndDropsNothingThatWasThere) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can read as somebody else";
  expect_unchanged([&] { somebody_reads(0, kFileBytes / 2); },
                   [&] {
                     constexpr uid_t kNobody = 65534;
                     const auto file = open();
                     ::setfsuid(kNobody);
                     const bool may_look = PageWindow::may_look(raw_.get());
                     read_here_and_there(*file);
                     ::setfsuid(0);
                     EXPECT_FALSE(may_look);
                   },
                   Allowed::kMore);
}

TEST_P(PageCacheTest, WithoutCachestatTheSameHolds) {
  constexpr long kCachestat = 451;
  for (const int refusal : {ENOSYS, EPERM}) {
    expect_unchanged([&] { somebody_reads(0, kFileBytes / 2); },
                     [&] { read_where_refused(kCachestat, refusal); });
  }
}

// Then a read-ahead of whoever read before us goes on for us.
TEST_P(PageCacheTest, WithoutCopiesThroughAWindowNothingThatWasThereGoes) {
  expect_unchanged([&] { somebody_reads(0, kFileBytes / 2); },
                   [&] { read_where_refused(SYS_process_vm_readv, EPERM); }, Allowed::kMore);
}

TEST_P(PageCacheTest, TheOwnerMayLook) { EXPECT_TRUE(PageWindow::may_look(raw_.get())); }

}  // namespace
}  // namespace offsetfs::storage
