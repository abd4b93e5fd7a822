#include "storage/log_dir_files.h"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/few_descriptors.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_backend.h"

namespace offsetfs::storage {
namespace {

using testing::HasSubstr;

// A replaced checkpoint that can't be opened for a while must not give deleted records back.
TEST(LogDirFilesTest, WhatACheckpointSaidStandsWhileItCannotBeRead) {
  const tests::TempDir temp;
  const TopicPartition orders{"orders", 3};
  const std::string text = "0\n1\norders 3 5\n";
  temp.write("log-start-offset-checkpoint", text);
  temp.write("meta.properties", "version=1\ncluster.id=c\nnode.id=4\n");
  const auto problems = std::make_shared<Problems>();
  const LogDirFiles files(SourceDir::open(temp.path(), tests::test_backend()).value(), problems);
  ASSERT_EQ(files.log_start_offset(orders), Offset{5});
  for (const char* name : {"log-start-offset-checkpoint", "meta.properties"}) {
    std::filesystem::copy_file(temp / name, temp / "new");
    std::filesystem::rename(temp / "new", temp / name);
  }
  {
    const tests::FewDescriptors none(0);
    files.refresh();
  }
  EXPECT_EQ(files.log_start_offset(orders), Offset{5});
  EXPECT_EQ(files.node_id(), 4);
  const auto named = problems->list();
  ASSERT_EQ(named.size(), 2U);
  EXPECT_THAT(named[0].what, HasSubstr("open files"));
  temp.write("log-start-offset-checkpoint", "0\n1\norders 3 7\n");
  files.refresh();  // it is looked at again
  EXPECT_EQ(files.log_start_offset(orders), Offset{7});
  std::filesystem::remove(temp / "log-start-offset-checkpoint");
  files.refresh();
  EXPECT_EQ(files.log_start_offset(orders), std::nullopt);
}

}  // namespace
}  // namespace offsetfs::storage
