#include "storage/io_ring.h"

#include <array>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "storage/file.h"
#include "storage/unique_fd.h"
#include "tests/support/refused_syscall.h"
#include "tests/support/temp_dir.h"

namespace offsetfs::storage {
namespace {

using testing::HasSubstr;

TEST(RingReadTest, AShortReadIsAskedForAgain) {
  std::array<char, 100> buffer;
  RingRead read(Position{1000}, buffer);
  EXPECT_FALSE(read.complete(30));
  EXPECT_EQ(read.position(), Position{1030});
  EXPECT_EQ(read.buffer().data(), buffer.data() + 30);
  EXPECT_EQ(read.buffer().size(), 70);
  EXPECT_FALSE(read.complete(-EAGAIN));
  EXPECT_FALSE(read.complete(-EINTR));
  EXPECT_EQ(read.position(), Position{1030});
  EXPECT_TRUE(read.complete(70));
  EXPECT_EQ(read.bytes_read(), 100);
  EXPECT_EQ(read.sys_errno(), 0);
}

TEST(RingReadTest, NothingIsTheEndOfTheFile) {
  std::array<char, 100> buffer;
  RingRead read(Position{0}, buffer);
  EXPECT_FALSE(read.complete(99));
  EXPECT_TRUE(read.complete(0));
  EXPECT_EQ(read.bytes_read(), 99);
  EXPECT_EQ(read.sys_errno(), 0);
}

TEST(RingReadTest, AnErrorEndsIt) {
  std::array<char, 100> buffer;
  RingRead read(Position{0}, buffer);
  EXPECT_TRUE(read.complete(-EIO));
  EXPECT_EQ(read.sys_errno(), EIO);
}

TEST(IoRingTest, MoreReadsThanItHoldsAreAllDone) {
  const tests::TempDir temp;
  std::string bytes;
  for (int i = 0; i < 10'000; ++i) bytes += std::to_string(100'000 + i);
  temp.write("a", bytes);
  const UniqueFd fd(::open((temp / "a").c_str(), O_RDONLY));
  auto ring = IoRing::create();
  ASSERT_TRUE(ring) << ring.error().what;
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{IoRing::kEntries},
                                  std::size_t{IoRing::kEntries} + 1, std::size_t{5000}}) {
    std::vector<std::array<char, 6>> buffers(count);
    std::vector<RingRead> reads;
    for (std::size_t i = 0; i < count; ++i) {
      reads.emplace_back(Position{static_cast<std::int64_t>(6 * i)}, buffers[i]);
    }
    ASSERT_TRUE((*ring)->read_all(fd.get(), reads, 0));
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(reads[i].bytes_read(), 6);
      ASSERT_EQ(std::string(buffers[i].data(), 6), std::to_string(100'000 + i));
    }
  }
}

TEST(IoRingTest, EachReadHasItsOwnError) {
  const tests::TempDir temp;
  const UniqueFd directory(::open(temp.path().c_str(), O_RDONLY | O_DIRECTORY));
  auto ring = IoRing::create();
  ASSERT_TRUE(ring) << ring.error().what;
  std::array<char, 6> buffer;
  std::vector<RingRead> reads(3, RingRead(Position{0}, buffer));
  ASSERT_TRUE((*ring)->read_all(directory.get(), reads, 0));
  for (const auto& read : reads) EXPECT_EQ(read.sys_errno(), EISDIR);
}

TEST(IoRingTest, ARefusalSaysWhy) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto ring = IoRing::create();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(ring);
  EXPECT_EQ(ring.error().sys_errno, EMFILE);
  EXPECT_THAT(ring.error().what, HasSubstr("io_uring: no file descriptors left"));
}

TEST(IoRingTest, WhereTheKernelForbidsItReadsGoOnByPread) {
  const tests::TempDir temp;
  temp.write("a", "abc");
  struct Row {
    int sys_errno;
    const char* why;
  };
  for (const auto& [sys_errno, why] :
       std::initializer_list<Row>{{EPERM, "kernel.io_uring_disabled or a seccomp profile"},
                                  {ENOSYS, "this kernel has none, or a seccomp profile hides it"},
                                  {ENOMEM, "RLIMIT_MEMLOCK"}}) {
    EXPECT_TRUE(tests::holds_where_refused(__NR_io_uring_setup, sys_errno, [&, what = why] {
      for (const auto choice : {IoChoice::kAuto, IoChoice::kRing}) {
        std::string refusal;
        const auto io = make_io_backend(choice, &refusal);
        std::array<char, 10> buffer;
        const auto file = io->adopt(::open((temp / "a").c_str(), O_RDONLY), "a");
        EXPECT_STREQ(io->kind(), "pread");
        EXPECT_THAT(refusal, HasSubstr(what));
        EXPECT_EQ(file->read_at(Position{0}, buffer).value(), 3);
      }
      return !testing::Test::HasFailure();
    })) << sys_errno;
  }
  std::string refusal = "old";
  EXPECT_STREQ(make_io_backend(IoChoice::kAuto, &refusal)->kind(), "io_uring");
  EXPECT_EQ(refusal, "");
  EXPECT_STREQ(make_io_backend(IoChoice::kPread, &refusal)->kind(), "pread");
}

// A ring that breaks in the mount's life: io_uring_enter fails, and the reads are done all the
// same.
TEST(IoRingTest, ARingThatFailsLaterCostsNoRead) {
  const tests::TempDir temp;
  temp.write("a", std::string(100'000, 'x'));
  EXPECT_TRUE(tests::holds_where_refused(__NR_io_uring_enter, ENOMEM, [&] {
    const auto io = make_io_backend(IoChoice::kRing, nullptr);
    EXPECT_STREQ(io->kind(), "io_uring");
    const UniqueFd fd(::open((temp / "a").c_str(), O_RDONLY));
    ::fsync(fd.get());
    for (int i = 0; i < 40; ++i) {  // more often than there are rings
      ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
      std::string buffer(100'001, '\0');
      const auto file = io->adopt(::open((temp / "a").c_str(), O_RDONLY), "a");
      EXPECT_EQ(file->read_at(Position{0}, buffer).value(), 100'000);
      EXPECT_EQ(buffer.find_first_not_of('x'), 100'000);
    }
    return !testing::Test::HasFailure();
  }));
}

TEST(IoRingPoolTest, IsBoundedAndKeepsWhatItMade) {
  IoRingPool pool(2);
  auto first = pool.take();
  auto second = pool.take();
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  EXPECT_FALSE(pool.take());
  const auto* const kept = first.get();
  pool.give_back(std::move(first));
  first = pool.take();
  EXPECT_EQ(first.get(), kept);
  second.reset();
  pool.lost();
  EXPECT_TRUE(pool.take());
}

TEST(IoRingPoolTest, ARefusedRingIsNotAskedForAgain) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  IoRingPool pool(2);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_FALSE(pool.take());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(pool.take());
}

}  // namespace
}  // namespace offsetfs::storage
