#include "fs/names.h"

#include <random>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/segment_files.h"

namespace offsetfs::fs {
namespace {

using ::testing::ElementsAre;

constexpr std::uint32_t kPartitionId = 7;

Node make(NodeKind kind, Form form = Form::kRaw, std::int64_t number = 0, std::string text = {},
          storage::SegmentSuffix suffix = storage::SegmentSuffix::kNone) {
  Node node;
  node.kind = kind;
  node.form = form;
  node.partition = kPartitionId;
  node.number = number;
  node.text = std::move(text);
  node.suffix = static_cast<std::uint8_t>(suffix);
  return node;
}

std::optional<Node> parse(NodeKind dir, std::string_view name) {
  return parse_name(make(dir), name);
}

std::vector<std::string> listed(NodeKind dir) {
  std::vector<std::string> names;
  for (const Node& node : fixed_entries(dir)) names.push_back(print_name(node));
  return names;
}

TEST(Names, ARecordHasFourForms) {
  EXPECT_EQ(parse(NodeKind::kOffsets, "42"), make(NodeKind::kRecord, Form::kRaw, 42));
  EXPECT_EQ(parse(NodeKind::kOffsets, "42.json"), make(NodeKind::kRecord, Form::kJson, 42));
  EXPECT_EQ(parse(NodeKind::kOffsets, "42.key"), make(NodeKind::kRecord, Form::kKey, 42));
  EXPECT_EQ(parse(NodeKind::kOffsets, "42.lookup"), make(NodeKind::kRecord, Form::kLookup, 42));
  EXPECT_EQ(parse(NodeKind::kOffsets, "0"), make(NodeKind::kRecord, Form::kRaw, 0));
  EXPECT_EQ(parse(NodeKind::kOffsets, "9223372036854775807"),
            make(NodeKind::kRecord, Form::kRaw, INT64_MAX));
}

TEST(Names, OnlyCanonicalNumbersAreOffsets) {
  for (const char* name : {"",          "-1",          "+1",      "01",       "00",
                           "1 ",        " 1",          "1.",      ".json",    "1.JSON",
                           "1.txt",     "1.json.json", "1.jsonl", "1.values", "9223372036854775808",
                           "0x1",       "1e3",         "٣",       "first",    "last",
                           "last.json", ".",           ".."}) {
    EXPECT_EQ(parse(NodeKind::kOffsets, name), std::nullopt) << name;
  }
  EXPECT_EQ(parse(NodeKind::kOffsets, std::string_view("1\0", 2)), std::nullopt);
}

TEST(Names, ARangeNeedsTheSuffixOfAStream) {
  EXPECT_EQ(parse(NodeKind::kOffsets, "3..7.jsonl"),
            make(NodeKind::kRange, Form::kJsonl, 0, "3..7"));
  EXPECT_EQ(parse(NodeKind::kOffsets, "first..7.values"),
            make(NodeKind::kRange, Form::kValues, 0, "first..7"));
  EXPECT_EQ(parse(NodeKind::kOffsets, "3..last.keys"),
            make(NodeKind::kRange, Form::kKeys, 0, "3..last"));
  EXPECT_EQ(parse(NodeKind::kOffsets, "last-5.tsv"),
            make(NodeKind::kRange, Form::kTsv, 0, "last-5"));
  for (const char* name : {"3..7", "3..7.json", "3..7.key", "3..7.lookup", "3..7.txt", "last-5",
                           "3...jsonl", "..jsonl", "07..8.jsonl"}) {
    EXPECT_EQ(parse(NodeKind::kOffsets, name), std::nullopt) << name;
  }
}

TEST(Names, SeekHasLinksToTheValueAndToTheObject) {
  EXPECT_EQ(parse(NodeKind::kSeek, "42"), make(NodeKind::kSeekLink, Form::kRaw, 42));
  EXPECT_EQ(parse(NodeKind::kSeek, "42.json"), make(NodeKind::kSeekLink, Form::kJson, 42));
  for (const char* name : {"42.key", "42.lookup", "3..7.jsonl", "042", "now"}) {
    EXPECT_EQ(parse(NodeKind::kSeek, name), std::nullopt) << name;
  }
}

TEST(Names, ATimeIsKeptAsItWasWritten) {
  for (const char* text : {"1793247836476", "@1793247836.476", "2026-10-29T04:23:56.476Z",
                           "2026-10-29T06:23:56+02:00", "2026-10-29", "now-15m", "now"}) {
    const std::string name = text;
    EXPECT_EQ(parse(NodeKind::kTime, name), make(NodeKind::kTimeLink, Form::kRaw, 0, text));
    EXPECT_EQ(parse(NodeKind::kTime, name + ".json"),
              make(NodeKind::kTimeLink, Form::kJson, 0, text));
    EXPECT_EQ(parse(NodeKind::kTime, name + ".lookup"),
              make(NodeKind::kTimeLookup, Form::kRaw, 0, text));
    EXPECT_EQ(parse(NodeKind::kTime, name + ".key"), std::nullopt);
    EXPECT_EQ(parse(NodeKind::kTime, name + ".jsonl"), std::nullopt);
  }
  EXPECT_EQ(parse(NodeKind::kTime, "tomorrow"), std::nullopt);
  EXPECT_EQ(parse(NodeKind::kTime, "first"), std::nullopt);
}

TEST(Names, ATimeRangeHasFractionsAndASuffix) {
  EXPECT_EQ(parse(NodeKind::kTime, "@1.5..@2.5.jsonl"),
            make(NodeKind::kTimeRange, Form::kJsonl, 0, "@1.5..@2.5"));
  EXPECT_EQ(parse(NodeKind::kTime, "2026-10-29..now.tsv"),
            make(NodeKind::kTimeRange, Form::kTsv, 0, "2026-10-29..now"));
  EXPECT_EQ(
      parse(NodeKind::kTime, "2026-10-29T04:23:56.476Z..1793247836477.values"),
      make(NodeKind::kTimeRange, Form::kValues, 0, "2026-10-29T04:23:56.476Z..1793247836477"));
  for (const char* name : {"1..2", "1..2.json", "1..2.lookup", "1...2.jsonl", "1..2..3.jsonl",
                           "first..2.jsonl", "..2.jsonl", "1...jsonl"}) {
    EXPECT_EQ(parse(NodeKind::kTime, name), std::nullopt) << name;
  }
}

TEST(Names, ASegmentIsTwentyDigitsAndAKnownSuffix) {
  using storage::SegmentSuffix;
  EXPECT_EQ(parse(NodeKind::kSegments, "00000000000000000000"), make(NodeKind::kSegment));
  EXPECT_EQ(parse(NodeKind::kSegments, "00000000000000001005"),
            make(NodeKind::kSegment, Form::kRaw, 1005));
  EXPECT_EQ(parse(NodeKind::kSegments, "09223372036854775807"),
            make(NodeKind::kSegment, Form::kRaw, INT64_MAX));
  EXPECT_EQ(parse(NodeKind::kSegments, "00000000000000001005.deleted"),
            make(NodeKind::kSegment, Form::kRaw, 1005, {}, SegmentSuffix::kDeleted));
  EXPECT_EQ(parse(NodeKind::kSegments, "00000000000000001005.swap"),
            make(NodeKind::kSegment, Form::kRaw, 1005, {}, SegmentSuffix::kSwap));
  EXPECT_EQ(parse(NodeKind::kSegments, "00000000000000001005.cleaned"),
            make(NodeKind::kSegment, Form::kRaw, 1005, {}, SegmentSuffix::kCleaned));
  for (const char* name :
       {"", "1005", "0000000000000000001005", "0000000000000000100x", "00000000000000001005.",
        "00000000000000001005.log", "00000000000000001005.deleted.deleted", "09223372036854775808",
        "99999999999999999999", "-0000000000000001005", "+0000000000000001005"}) {
    EXPECT_EQ(parse(NodeKind::kSegments, name), std::nullopt) << name;
  }
}

TEST(Names, AFileOfASegmentCarriesTheSegment) {
  const Node segment =
      make(NodeKind::kSegment, Form::kRaw, 1005, {}, storage::SegmentSuffix::kDeleted);
  EXPECT_EQ(
      parse_name(segment, "records.values"),
      make(NodeKind::kSegmentStream, Form::kValues, 1005, {}, storage::SegmentSuffix::kDeleted));
  EXPECT_EQ(parse_name(segment, "info.json"),
            make(NodeKind::kSegmentInfo, Form::kRaw, 1005, {}, storage::SegmentSuffix::kDeleted));
  EXPECT_EQ(parse_name(segment, "records"), std::nullopt);
  EXPECT_EQ(parse_name(segment, "records.json"), std::nullopt);
  EXPECT_EQ(parse_name(segment, "offsets"), std::nullopt);
}

TEST(Names, TheRootOfAPartitionListsAllButItsStreams) {
  EXPECT_THAT(listed(NodeKind::kPartition),
              ElementsAre("README", "CACHEDIR.TAG", "active", "append", "append.jsonl", "first",
                          "first.json", "follow", "last", "last.json", "offsets", "problems.jsonl",
                          "retention", "seek", "segments", "state", "stats", "time"));
  for (const char* name : {"records.jsonl", "records.values", "records.keys", "records.tsv"}) {
    EXPECT_TRUE(parse(NodeKind::kPartition, name)) << name;
  }
}

TEST(Names, WhatIsFollowedHasAStartAndAForm) {
  Node follow;
  follow.kind = NodeKind::kFollow;
  follow.partition = 3;
  for (const char* name : {"end.jsonl", "42.values", "last-5.tsv", "now-1h.keys",
                           "2026-10-29T04:23:56.5Z.jsonl", "@1793247836.jsonl"}) {
    const auto node = parse_name(follow, name);
    ASSERT_TRUE(node) << name;
    EXPECT_EQ(node->kind, NodeKind::kFollowStream);
    EXPECT_EQ(node->partition, 3U);
    EXPECT_EQ(print_name(*node), name);
  }
  for (const char* name : {"end", "42", "end.json", "042.values", "last-0.jsonl", "1..2.jsonl",
                           "-5.values", "soon.jsonl", ".jsonl"})
    EXPECT_FALSE(parse_name(follow, name)) << name;
  EXPECT_THAT(listed(NodeKind::kFollow), testing::IsEmpty());
}

TEST(Names, ASegmentListsItsRecordsOnce) {
  EXPECT_THAT(listed(NodeKind::kSegment),
              ElementsAre("records.jsonl", "batches.jsonl", "index.tsv", "timeindex.tsv",
                          "txnindex.tsv", "producers.jsonl", "info.json", "damage.jsonl"));
}

TEST(Names, StateHasOneValueAFile) {
  EXPECT_THAT(listed(NodeKind::kState),
              ElementsAre("log_start_offset", "log_end_offset", "high_watermark",
                          "last_stable_offset", "recovery_point", "cleaner_offset", "records",
                          "topic", "partition", "topic_id", "leader_epoch", "leader_epochs.tsv",
                          "producers.tsv", "transactions.tsv", "compaction.tsv"));
  EXPECT_EQ(parse(NodeKind::kState, "topic_id")->number,
            static_cast<std::int64_t>(StateFile::kTopicId));
}

TEST(Names, RetentionIsADirectoryOfFilesLinksAndSuppositions) {
  Node retention;
  retention.kind = NodeKind::kRetention;
  retention.partition = 3;
  const auto in = [&](NodeKind dir, std::string_view name) {
    Node node = retention;
    node.kind = dir;
    return parse_name(node, name);
  };
  for (const char* name : {"status.tsv", "status.json", "policy.tsv", "policy.json", "next",
                           "timeline.svg", "expired", "deleting", "what-if"}) {
    const auto node = parse_name(retention, name);
    ASSERT_TRUE(node) << name;
    EXPECT_EQ(print_name(*node), name);
    EXPECT_EQ(node->partition, 3U);
  }
  EXPECT_EQ(parse_name(retention, "status"), parse_name(retention, "status.tsv"));
  const auto expired = in(NodeKind::kExpired, "00000000000000001005");
  ASSERT_TRUE(expired);
  EXPECT_EQ(expired->kind, NodeKind::kExpiredLink);
  EXPECT_EQ(expired->number, 1005);
  EXPECT_EQ(print_name(*expired), "00000000000000001005");
  EXPECT_FALSE(in(NodeKind::kExpired, "00000000000000001005.deleted"));
  const auto deleting = in(NodeKind::kDeleting, "00000000000000001005.deleted");
  ASSERT_TRUE(deleting);
  EXPECT_EQ(print_name(*deleting), "00000000000000001005.deleted");
  EXPECT_FALSE(in(NodeKind::kDeleting, "00000000000000001005"));
  EXPECT_TRUE(in(NodeKind::kDeleting, "status.tsv"));

  for (const char* name : {"retention.ms=3600000", "retention.ms=1,retention.bytes=5.json",
                           "cleanup.policy=compact,delete", "cleanup.policy=,retention.ms=2"}) {
    const auto node = in(NodeKind::kWhatIf, name);
    ASSERT_TRUE(node) << name;
    EXPECT_EQ(print_name(*node), name);
  }
  for (const char* name : {"", "retention.ms", "retention.ms=x", "no.such=1", ",retention.ms=1",
                           "retention.ms=1,retention.ms=2", "cleanup.policy=shred"})
    EXPECT_FALSE(in(NodeKind::kWhatIf, name)) << name;
}

TEST(Names, TheBrokersRootHasItsOwnFiles) {
  EXPECT_THAT(listed(NodeKind::kRoot), ElementsAre("README", "CACHEDIR.TAG", "problems.jsonl",
                                                   "retention", "stats", "topics"));
  Node topic = make(NodeKind::kTopic, Form::kRaw, 0, "we.ird-name_9");
  EXPECT_EQ(parse(NodeKind::kTopics, "we.ird-name_9"), topic);
  EXPECT_EQ(parse_name(topic, "7"),
            make(NodeKind::kTopicPartition, Form::kRaw, 7, "we.ird-name_9"));
  for (const char* name : {"07", "-1", "x", "2147483648", ""}) {
    EXPECT_EQ(parse_name(topic, name), std::nullopt) << name;
  }
}

TEST(Names, DirectoriesThatAreNamedByDataHaveNoFixedEntries) {
  for (const NodeKind dir : {NodeKind::kOffsets, NodeKind::kSeek, NodeKind::kTime,
                             NodeKind::kSegments, NodeKind::kTopics, NodeKind::kRecord}) {
    EXPECT_THAT(listed(dir), ElementsAre());
  }
}

TEST(Names, WhatIsAFileHasNothingBelowIt) {
  for (const NodeKind dir : {NodeKind::kRecord, NodeKind::kReadme, NodeKind::kSegmentStream}) {
    EXPECT_EQ(parse(dir, "README"), std::nullopt);
    EXPECT_EQ(parse(dir, "0"), std::nullopt);
  }
}

TEST(Names, EveryListedNameParsesToTheNodeItWasPrintedFrom) {
  for (const NodeKind dir :
       {NodeKind::kRoot, NodeKind::kPartition, NodeKind::kSegment, NodeKind::kState}) {
    std::set<std::string> seen;
    for (Node node : fixed_entries(dir)) {
      node.partition = kPartitionId;
      EXPECT_EQ(parse(dir, print_name(node)), node) << print_name(node);
      EXPECT_TRUE(seen.insert(print_name(node)).second) << "twice: " << print_name(node);
    }
  }
}

// Any node that a name can be given to, with the directory it lies in.
struct Placed {
  Node dir;
  Node node;
};

class RandomNames {
 public:
  explicit RandomNames(std::uint64_t seed) : random_(seed) {}

  Placed node() {
    switch (below(8)) {
      case 0: return {make(NodeKind::kOffsets), make(NodeKind::kRecord, form(kRecordForms), any())};
      case 1: return {make(NodeKind::kSeek), make(NodeKind::kSeekLink, form(kLinkForms), any())};
      case 2: return {make(NodeKind::kOffsets), make(NodeKind::kRange, form(kStreams), 0, range())};
      case 3:
        return {make(NodeKind::kTime), make(NodeKind::kTimeLink, form(kLinkForms), 0, time())};
      case 4: return {make(NodeKind::kTime), make(NodeKind::kTimeLookup, Form::kRaw, 0, time())};
      case 5:
        return {make(NodeKind::kTime),
                make(NodeKind::kTimeRange, form(kStreams), 0, time() + ".." + time())};
      case 6: return {make(NodeKind::kSegments), segment()};
      default: {
        const Node dir = segment();
        Node stream = make(NodeKind::kSegmentStream, form(kStreams), dir.number);
        stream.suffix = dir.suffix;
        return {dir, stream};
      }
    }
  }

  // Bytes that look like names: pieces of the grammar, broken anywhere.
  std::string name() {
    static const std::vector<std::string> kPieces{"0",
                                                  "1",
                                                  "42",
                                                  "007",
                                                  "9223372036854775807",
                                                  "9223372036854775808",
                                                  "..",
                                                  ".",
                                                  "-",
                                                  "+",
                                                  "first",
                                                  "last",
                                                  "first-",
                                                  "last-",
                                                  ".json",
                                                  ".jsonl",
                                                  ".key",
                                                  ".keys",
                                                  ".values",
                                                  ".tsv",
                                                  ".lookup",
                                                  "@",
                                                  "now",
                                                  "now-15m",
                                                  "2026-10-29",
                                                  "T04:23",
                                                  ":56.476",
                                                  "Z",
                                                  "+02:00",
                                                  "00000000000000001005",
                                                  ".deleted",
                                                  ".swap",
                                                  "records",
                                                  "README",
                                                  "offsets",
                                                  "\xff",
                                                  "\n",
                                                  std::string(1, '\0'),
                                                  " "};
    std::string text;
    for (std::size_t count = below(5); count > 0; --count) text += kPieces[below(kPieces.size())];
    return text;
  }

  NodeKind dir() {
    static const std::vector<NodeKind> kDirs{
        NodeKind::kRoot,   NodeKind::kTopic,  NodeKind::kPartition, NodeKind::kOffsets,
        NodeKind::kSeek,   NodeKind::kTime,   NodeKind::kSegments,  NodeKind::kState,
        NodeKind::kTopics, NodeKind::kSegment};
    return kDirs[below(kDirs.size())];
  }

 private:
  static inline const std::vector<Form> kRecordForms{Form::kRaw, Form::kJson, Form::kKey,
                                                     Form::kLookup};
  static inline const std::vector<Form> kLinkForms{Form::kRaw, Form::kJson};
  static inline const std::vector<Form> kStreams{Form::kJsonl, Form::kValues, Form::kKeys,
                                                 Form::kTsv};

  std::size_t below(std::size_t limit) { return random_() % limit; }
  Form form(const std::vector<Form>& forms) { return forms[below(forms.size())]; }
  std::int64_t any() { return static_cast<std::int64_t>(random_() >> 1 >> below(63)); }
  Node segment() {
    return make(NodeKind::kSegment, Form::kRaw, any(), {},
                static_cast<storage::SegmentSuffix>(below(4)));
  }
  std::string end() {
    const std::size_t kind = below(4);
    return kind == 0 ? "first" : kind == 1 ? "last" : std::to_string(any());
  }
  std::string range() {
    const std::string count = std::to_string(any() | 1);
    const std::size_t kind = below(4);
    return kind == 0 ? "first-" + count : kind == 1 ? "last-" + count : end() + ".." + end();
  }
  std::string time() {
    static const std::vector<std::string> kTimes{
        "2026-10-29", "2026-10-29T04:23:56.476Z", "@17.25", "now-3d", "now", "2026-10-29T04:23"};
    const std::size_t kind = below(kTimes.size() + 3);
    return kind < kTimes.size() ? kTimes[kind] : std::to_string(any());
  }

  std::mt19937_64 random_;
};

TEST(NamesProperty, WhatIsPrintedParsesToTheSameNode) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomNames random(seed);
  for (int i = 0; i < 50'000; ++i) {
    const Placed placed = random.node();
    const std::string name = print_name(placed.node);
    ASSERT_EQ(parse_name(placed.dir, name), placed.node) << name;
  }
}

TEST(NamesProperty, WhateverParsesIsPrintedAsItWasWritten) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomNames random(seed);
  int parsed = 0;
  for (int i = 0; i < 200'000; ++i) {
    const std::string name = random.name();
    const auto node = parse(random.dir(), name);
    if (!node) continue;
    ++parsed;
    ASSERT_EQ(print_name(*node), name);
    ASSERT_EQ(node->partition, kPartitionId);
  }
  EXPECT_GT(parsed, 1000);
}

}  // namespace
}  // namespace offsetfs::fs
