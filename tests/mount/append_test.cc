#include "mount/append.h"

#include <gtest/gtest.h>

namespace offsetfs::mount {
namespace {

AppendRequest parsed(const std::vector<std::string>& arguments) {
  const auto request = parse_append(arguments);
  EXPECT_TRUE(request) << (request ? "" : request.error().what);
  return request ? std::get<AppendRequest>(*request) : AppendRequest{};
}

std::string refusal(const std::vector<std::string>& arguments) {
  const auto request = parse_append(arguments);
  EXPECT_FALSE(request);
  return request ? "" : request.error().what;
}

TEST(AppendCommand, ADirectoryIsEnough) {
  const auto request = parsed({"/srv/logs/orders-0"});
  EXPECT_EQ(request.dir, "/srv/logs/orders-0");
  EXPECT_EQ(request.form, fs::Form::kRaw);
  EXPECT_EQ(request.options.batch_bytes, 16384);
  EXPECT_EQ(request.options.linger_ms, 0);
  EXPECT_EQ(request.options.codec, std::nullopt);
  EXPECT_FALSE(request.options.force);
}

TEST(AppendCommand, AllOptions) {
  const auto request =
      parsed({"--key-separator", ":", "--compression", "zstd", "--batch-bytes", "1M", "--linger-ms",
              "5", "-o", "retention.ms=-1,segment.ms=5", "--force", "orders-0"});
  EXPECT_EQ(request.dir, "orders-0");
  EXPECT_EQ(request.options.key_separator, ":");
  EXPECT_EQ(request.options.codec, storage::Codec::kZstd);
  EXPECT_EQ(request.options.batch_bytes, 1 << 20);
  EXPECT_EQ(request.options.linger_ms, 5);
  EXPECT_EQ(request.settings.at("retention.ms"), "-1");
  EXPECT_EQ(request.settings.at("segment.ms"), "5");
  EXPECT_TRUE(request.options.force);
  EXPECT_EQ(parsed({"--jsonl", "orders-0"}).form, fs::Form::kJsonl);
}

TEST(AppendCommand, RefusalsNameTheCure) {
  EXPECT_EQ(refusal({}), "append: no DIR given: offsetfs append DIR < FILE");
  EXPECT_EQ(refusal({"d", "--compression", "xz"}),
            "append: --compression xz: expected none, gzip, snappy, lz4 or zstd");
  EXPECT_EQ(refusal({"d", "--batch-bytes", "0"}),
            "append: --batch-bytes 0: expected a number of bytes, as 16384 or 1M");
  EXPECT_EQ(refusal({"d", "--jsonl", "--key-separator", ":"}),
            "append: --jsonl and --key-separator: an object names its key itself; leave one out");
  EXPECT_NE(refusal({"d", "--key-separator", ""}).find("between key and value; leave it out"),
            std::string::npos);
  EXPECT_NE(refusal({"d", "-o", "retention.mss=1"}).find("did you mean retention.ms?"),
            std::string::npos);
  EXPECT_NE(refusal({"d", "--nonsense"}).find("see offsetfs append --help"), std::string::npos);
}

TEST(AppendCommand, HelpIsAPrintout) {
  const auto help = parse_append({"--help"});
  ASSERT_TRUE(help);
  EXPECT_NE(std::get<Printout>(*help).text.find("--key-separator"), std::string::npos);
}

}  // namespace
}  // namespace offsetfs::mount
