#include "mount/create.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mount/subcommand.h"

namespace offsetfs::mount {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

using Arguments = std::vector<std::string>;

storage::NewLog parsed(const Arguments& arguments) {
  const auto result = parse_create(arguments);
  if (!result) {
    ADD_FAILURE() << result.error().what;
    return {};
  }
  return std::get<storage::NewLog>(*result);
}

std::string complaint(const Arguments& arguments) {
  const auto result = parse_create(arguments);
  return result ? "" : result.error().what;
}

TEST(CreateCommand, NamesTheLogAndItsSettings) {
  const auto log =
      parsed({"/logs", "--topic", "orders", "--partition", "3", "-o",
              "segment.bytes=1048576,retention.ms=-1", "-o", "cleanup.policy=compact"});
  EXPECT_EQ(log.log_dir, "/logs");
  EXPECT_EQ(log.topic_partition, (storage::TopicPartition{"orders", 3}));
  EXPECT_THAT(log.settings,
              ElementsAre(Pair("cleanup.policy", "compact"), Pair("retention.ms", "-1"),
                          Pair("segment.bytes", "1048576")));
  EXPECT_FALSE(log.force);
  EXPECT_FALSE(log.topic_id);
}

TEST(CreateCommand, ThePartitionIs0WhereNoneIsSaid) {
  EXPECT_EQ(parsed({"--topic", "orders", "/logs", "--force"}).topic_partition.partition, 0);
}

TEST(CreateCommand, ANodeNeedsNoTopic) {
  EXPECT_TRUE(parsed({"/logs", "--broker"}).broker);
  EXPECT_TRUE(parsed({"/logs", "--topic", "orders", "--broker"}).broker);
}

TEST(CreateCommand, EveryComplaintIsALineWithACure) {
  for (const auto& [arguments, says] : std::initializer_list<std::pair<Arguments, std::string>>{
           {{}, "no DIR given"},
           {{"/logs"}, "--topic TOPIC"},
           {{"/logs", "--topic", "a", "--partition", "b"}, "see offsetfs create --help"},
           {{"/logs", "/more", "--topic", "a"}, "see offsetfs create --help"},
           {{"/logs", "--topic", "a", "-o", "segment.byte=1"}, "did you mean segment.bytes?"},
           {{"/logs", "--topic", "a", "-o", "segment.bytes=1k"}, "segment.bytes"},
           {{"/logs", "--topic", "a", "--topic-id", "x"}, "22 characters"},
           {{"/logs", "--broker", "--partition", "3"}, "give --topic too"},
           {{"/logs", "--broker", "-o", "retention.ms=-1"}, "give --topic too"},
           {{"/logs", "--broker", "--topic-id", "pVfDuNGtRYuTcQhOhPPQTQ"}, "give --topic too"},
       })
    EXPECT_THAT(complaint(arguments), AllOf(HasSubstr(says), Not(HasSubstr("\n"))));
}

TEST(CreateCommand, ItsHelpSaysHowSmallASegmentMayBe) {
  const auto help = parse_create({"--help"});
  ASSERT_TRUE(help);
  EXPECT_THAT(std::get<Printout>(*help).text, HasSubstr("least segment.bytes is 1048576."));
}

TEST(Subcommands, AreFoundByTheFirstArgumentAlone) {
  EXPECT_EQ(find_subcommand({}), nullptr);
  EXPECT_EQ(find_subcommand({"/data", "create"}), nullptr);
  EXPECT_EQ(find_subcommand({"./create", "/mnt"}), nullptr);
  for (const auto& subcommand : subcommands()) {
    EXPECT_EQ(find_subcommand({std::string(subcommand.name), "--help"}), &subcommand);
    EXPECT_THAT(describe_subcommands(), HasSubstr("offsetfs " + std::string(subcommand.usage)));
  }
}

}  // namespace
}  // namespace offsetfs::mount
