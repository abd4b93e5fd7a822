#include "storage/segment_list.h"

#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace offsetfs::storage {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// "0.log 7.index.swap" -> names; short numbers stand for 20 digits.
std::vector<SegmentFileName> names(const std::string& text) {
  std::vector<SegmentFileName> all;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const auto dot = word.find('.');
    const auto name = parse_segment_file(
        segment_base_name(Offset{std::stoll(word.substr(0, dot))}) + word.substr(dot));
    if (!name) throw std::runtime_error(word);
    all.push_back(*name);
  }
  return all;
}

std::string short_name(const SegmentFileName& name) {
  return std::to_string(name.base_offset.value) + segment_file_name(name).substr(20);
}

// Every file of the entries, as it is called in the directory.
std::string files(const std::vector<SegmentEntry>& entries) {
  std::string text;
  for (const auto& entry : entries) {
    for (int file = 0; file < 5; ++file) {
      const auto kind = static_cast<SegmentFile>(file);
      if (!entry.has(kind)) continue;
      if (!text.empty()) text += ' ';
      text += short_name({entry.base_offset, kind, entry.suffix_of(kind)});
    }
  }
  return text;
}

struct Row {
  const char* story;
  std::string names;
  std::map<std::int64_t, std::int64_t> swap_ends;
  std::string live;
  std::string set_aside;
  std::string replaced;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {"an empty directory", "", {}, "", "", ""},
      {"a plain log, listed in any order",
       "10.timeindex 0.index 10.log 0.log 10.index 0.timeindex",
       {},
       "0.log 0.index 0.timeindex 10.log 10.index 10.timeindex",
       "",
       ""},
      {"a new active segment is a .log alone", "0.log 5.log", {}, "0.log 5.log", "", ""},
      {"indexes without a .log are nothing",
       "0.log 5.index 5.timeindex 5.txnindex",
       {},
       "0.log",
       "",
       ""},
      {"1: .deleted is set aside",
       "0.log.deleted 0.index.deleted 10.log",
       {},
       "10.log",
       "0.log.deleted 0.index.deleted",
       ""},
      {"1: .deleted beside the compacted segment of the same name",
       "0.log 0.index 0.log.deleted 0.index.deleted",
       {},
       "0.log 0.index",
       "0.log.deleted 0.index.deleted",
       ""},
      {"1: .cleaned is set aside",
       "0.log 0.log.cleaned 0.index.cleaned",
       {},
       "0.log",
       "0.log.cleaned 0.index.cleaned",
       ""},
      {"1: remains of a doomed segment whose .log is gone are nothing",
       "0.index.deleted 0.timeindex.cleaned 10.log",
       {},
       "10.log",
       "",
       ""},
      {"2: a .swap above a .cleaned is void",
       "0.log 0.log.cleaned 5.log.swap 5.index.swap",
       {{5, 10}},
       "0.log",
       "0.log.cleaned 5.log.swap 5.index.swap",
       ""},
      {"2: a .swap at a .cleaned is void",
       "5.log 5.index.cleaned 5.log.swap",
       {{5, 10}},
       "5.log",
       "5.log.swap",
       ""},
      {"2: a .swap below the lowest .cleaned stands",
       "0.log 3.log.swap 5.log.cleaned 7.log.cleaned",
       {{3, 5}},
       "0.log 3.log.swap",
       "5.log.cleaned 7.log.cleaned",
       ""},
      {"2: any .cleaned file counts, not only a .log",
       "0.log 2.timeindex.cleaned 3.log.swap",
       {{3, 5}},
       "0.log",
       "3.log.swap",
       ""},
      {"3, 4: a compacted .swap replaces the segments it covers",
       "0.log 0.index 10.log 10.index 20.log 0.log.swap 0.index.swap",
       {{0, 20}},
       "0.log.swap 0.index.swap 20.log",
       "",
       "0.log 0.index 10.log 10.index"},
      {"4: the end of the cover is exclusive",
       "0.log.swap 9.log 10.log 11.log",
       {{0, 10}},
       "0.log.swap 10.log 11.log",
       "",
       "9.log"},
      {"4: snapshots in the cover go too",
       "0.log.swap 0.log 10.log 10.snapshot 20.log 20.snapshot",
       {{0, 20}},
       "0.log.swap 20.log 20.snapshot",
       "",
       "0.log 10.log 10.snapshot"},
      {"3: two .swap cover all between them",
       "0.log.swap 5.log 8.log 10.log.swap 15.log 20.log",
       {{0, 5}, {10, 20}},
       "0.log.swap 10.log.swap 20.log",
       "",
       "5.log 8.log 15.log"},
      {"3: an empty .swap covers nothing but its own name",
       "0.log 0.log.swap 1.log",
       {},
       "0.log.swap 1.log",
       "",
       "0.log"},
      {"3: an index .swap alone covers nothing",
       "0.log 0.index 0.index.swap 1.log",
       {},
       "0.log 0.index.swap 1.log",
       "",
       "0.index"},
      {"5: indexes still .swap whose .log was renamed before the crash",
       "0.log 0.index.swap 0.timeindex 10.log",
       {},
       "0.log 0.index.swap 0.timeindex 10.log",
       "",
       ""},
      {"5: the plain index of the replaced segment is not taken for the .swap's own",
       "0.log 0.index 0.txnindex 0.log.swap",
       {{0, 5}},
       "0.log.swap",
       "",
       "0.log 0.index 0.txnindex"},
      {"6: an index .swap without a .log is nothing", "0.log 5.index.swap", {}, "0.log", "", ""},
      {"all at once",
       "0.log.deleted 0.log.swap 0.log 4.log 4.log.deleted 9.log 12.log.cleaned 12.log.swap",
       {{0, 9}, {12, 20}},
       "0.log.swap 9.log",
       "0.log.deleted 4.log.deleted 12.log.swap 12.log.cleaned",
       "0.log 4.log"},
  };
  return all;
}

TEST(SegmentList, EachRuleOfTheStartUpResolution) {
  for (const auto& row : rows()) {
    SCOPED_TRACE(row.story);
    const auto list = resolve_segments(names(row.names), [&](Offset base) -> std::optional<Offset> {
      const auto end = row.swap_ends.find(base.value);
      if (end == row.swap_ends.end()) return std::nullopt;
      return Offset{end->second};
    });
    EXPECT_EQ(files(list.live), row.live);
    EXPECT_EQ(files(list.set_aside), row.set_aside);
    std::string replaced;
    for (const auto& name : list.replaced) {
      if (!replaced.empty()) replaced += ' ';
      replaced += short_name(name);
    }
    EXPECT_EQ(replaced, row.replaced);
  }
}

TEST(SegmentList, OnlyTheLogsOfValidSwapsAreOpened) {
  std::vector<std::int64_t> asked;
  (void)resolve_segments(
      names("0.log 1.log.swap 2.index.swap 3.log.swap 5.log.cleaned 6.log.swap 7.log.deleted"),
      [&](Offset base) -> std::optional<Offset> {
        asked.push_back(base.value);
        return std::nullopt;
      });
  EXPECT_THAT(asked, ElementsAre(1, 3));
}

TEST(SegmentList, SnapshotsCountBesideNoSegmentToo) {
  const auto list =
      resolve_segments(names("0.log 10.log 10.snapshot 17.snapshot 12.snapshot 3.snapshot.deleted"),
                       [](Offset) { return std::nullopt; });
  EXPECT_THAT(list.snapshots, ElementsAre(Offset{10}, Offset{12}, Offset{17}));
}

TEST(SegmentList, IsReadFromADirectoryPastStrangers) {
  const tests::TempDir temp;
  for (const char* name :
       {"00000000000000000000.log", "00000000000000000000.index", "00000000000000000007.log",
        "00000000000000000003.log.deleted", "notes.txt", "leader-epoch-checkpoint",
        "00000000000000000001.log.tmp"}) {
    temp.write("orders-0/" + std::string(name), "");
  }
  temp.make_dir("orders-0/00000000000000000009.log");  // a directory is no segment
  const auto dir = SourceDir::open(temp.path(), make_io_backend(IoChoice::kAuto, nullptr)).value();
  const auto list = list_segments(*dir, "orders-0", [](Offset) { return std::nullopt; });
  ASSERT_TRUE(list);
  EXPECT_EQ(files(list->live), "0.log 0.index 7.log");
  EXPECT_EQ(files(list->set_aside), "3.log.deleted");
  EXPECT_FALSE(list_segments(*dir, "none-0", [](Offset) { return std::nullopt; }));
}

TEST(SegmentList, AnEntryIsSmall) { EXPECT_LE(sizeof(SegmentEntry), 16); }

}  // namespace
}  // namespace offsetfs::storage
