#include "storage/file.h"

#include <array>
#include <fstream>
#include <random>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/temp_dir.h"

namespace offsetfs::storage {
namespace {

using testing::HasSubstr;

std::string random_bytes(std::size_t size, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  for (auto& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

// The same stories over each backend.
class FileTest : public testing::TestWithParam<IoChoice> {
 protected:
  std::unique_ptr<File> open(const std::string& name) {
    const int fd = ::open((temp_ / name).c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) throw std::runtime_error("cannot open " + name);
    return io_->adopt(fd, name);
  }

  tests::TempDir temp_;
  std::shared_ptr<const IoBackend> io_ = make_io_backend(GetParam(), nullptr);
};

INSTANTIATE_TEST_SUITE_P(Backends, FileTest, testing::Values(IoChoice::kRing, IoChoice::kPread),
                         [](const auto& backend) {
                           return backend.param == IoChoice::kRing ? "io_uring" : "pread";
                         });

TEST_P(FileTest, AReadIsShortOnlyAtTheEnd) {
  const auto bytes = random_bytes(100'000, 1);
  temp_.write("a.log", bytes);
  const auto file = open("a.log");
  struct Row {
    std::int64_t position;
    std::size_t size;
  };
  for (const auto& [position, size] : std::initializer_list<Row>{{0, 0},
                                                                 {0, 1},
                                                                 {0, 4096},
                                                                 {1, 4096},
                                                                 {4095, 2},
                                                                 {0, 100'000},
                                                                 {0, 100'001},
                                                                 {99'999, 1},
                                                                 {99'999, 2},
                                                                 {99'000, 5000},
                                                                 {100'000, 10},
                                                                 {200'000, 10}}) {
    std::string buffer(size, '#');
    const auto got = file->read_at(Position{position}, buffer);
    ASSERT_TRUE(got) << got.error().what;
    const auto expected = static_cast<std::size_t>(position) < bytes.size()
                              ? bytes.substr(static_cast<std::size_t>(position), size)
                              : std::string();
    EXPECT_EQ(*got, expected.size()) << position << " " << size;
    EXPECT_EQ(buffer.substr(0, *got), expected) << position << " " << size;
    EXPECT_EQ(buffer.substr(*got), std::string(size - *got, '#')) << "wrote beyond what it read";
  }
}

TEST_P(FileTest, ManyReadsAtOnceEachGetTheirOwnBytes) {
  const auto bytes = random_bytes(3'000'000, 2);
  temp_.write("a.log", bytes);
  const auto file = open("a.log");
  std::mt19937 random(3);
  for (const std::size_t count : {0, 1, 2, 7, 100, 1000}) {
    std::vector<std::string> buffers(count);
    std::vector<File::Read> reads;
    for (auto& buffer : buffers) {
      buffer.resize(random() % 9000);
      reads.push_back({Position{static_cast<std::int64_t>(random() % 3'010'000)}, buffer});
    }
    const auto done = file->read_many(reads);
    ASSERT_TRUE(done) << done.error().what;
    for (const auto& read : reads) {
      const auto from = std::min(static_cast<std::size_t>(read.position.value), bytes.size());
      const auto expected = std::string_view(bytes).substr(from, read.buffer.size());
      ASSERT_EQ(read.bytes_read, expected.size());
      ASSERT_EQ(std::string_view(read.buffer.data(), read.bytes_read), expected);
    }
  }
}

TEST_P(FileTest, AnOpenFileOutlivesItsName) {
  temp_.write("a.log", "abc");
  const auto file = open("a.log");
  ASSERT_EQ(::unlink((temp_ / "a.log").c_str()), 0);
  std::array<char, 10> buffer{};
  EXPECT_EQ(file->read_at(Position{0}, buffer).value(), 3);
  EXPECT_EQ(file->info().value().size_bytes, 3);
}

TEST_P(FileTest, AGrowingAndShrinkingFileIsReadAsItIsNow) {
  temp_.write("a.log", "abc");
  const auto file = open("a.log");
  std::array<char, 10> buffer{};
  EXPECT_EQ(file->read_at(Position{0}, buffer).value(), 3);
  std::ofstream(temp_ / "a.log", std::ios::app) << "defg";
  EXPECT_EQ(file->read_at(Position{0}, buffer).value(), 7);
  EXPECT_EQ(file->info().value().size_bytes, 7);
  ASSERT_EQ(::truncate((temp_ / "a.log").c_str(), 2), 0);
  EXPECT_EQ(file->read_at(Position{0}, buffer).value(), 2);
  EXPECT_EQ(file->read_at(Position{2}, buffer).value(), 0);
}

TEST_P(FileTest, AFailureNamesFileAndPosition) {
  const int fd = ::open(temp_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const auto file = io_->adopt(fd, "orders-0/a.log");  // a directory: every read fails with EISDIR
  std::array<char, 10> buffer{};
  const auto got = file->read_at(Position{4096}, buffer);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Errc::kIo);
  EXPECT_EQ(got.error().sys_errno, EISDIR);
  EXPECT_THAT(got.error().what, HasSubstr("orders-0/a.log"));
  EXPECT_THAT(got.error().what, HasSubstr("4096"));
  std::array<File::Read, 2> reads{File::Read{Position{0}, buffer}, File::Read{Position{5}, buffer}};
  EXPECT_EQ(file->read_many(reads).error().sys_errno, EISDIR);
}

TEST_P(FileTest, ANegativePositionIsAnErrorAndNotACrash) {
  temp_.write("a.log", "abc");
  std::array<char, 10> buffer{};
  EXPECT_EQ(open("a.log")->read_at(Position{-1}, buffer).error().sys_errno, EINVAL);
}

TEST_P(FileTest, ThreadsShareAFile) {
  const auto bytes = random_bytes(1'000'000, 4);
  temp_.write("a.log", bytes);
  const auto file = open("a.log");
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      std::string buffer(5000, '\0');
      for (int i = 0; i < 300; ++i) {
        const auto from = random() % 990'000;
        if (!file->read_at(Position{static_cast<std::int64_t>(from)}, buffer) ||
            std::string_view(bytes).substr(from, 5000) != buffer) {
          ++wrong;
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace offsetfs::storage
