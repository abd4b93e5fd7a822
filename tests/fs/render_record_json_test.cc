#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fs/renderer.h"
#include "storage/record_batch.h"
#include "tests/support/golden_batches.h"

namespace offsetfs::fs {
namespace {

// Each record of an entry as `offsets/N.json` shows it, in the segment 40 at position 4096.
std::vector<std::string> objects(const std::string& entry) {
  const auto batch = storage::DecodedBatch::decode(entry);
  EXPECT_TRUE(batch) << batch.error().what;
  std::vector<std::string> objects;
  storage::RecordReader records = (*batch)->records();
  storage::Record record;
  while (records.next(record) == storage::RecordReader::Step::kRecord) {
    objects.push_back(render_record_json({"orders", 3, 1}, (*batch)->header(), record,
                                         storage::Offset{40}, storage::Position{4096}));
  }
  return objects;
}

TEST(RecordJson, ARecordIsKcatsObjectAndItsBatch) {
  const auto records = objects(tests::golden_two_records());
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(
      records[0],
      R"({"topic":"orders","partition":3,"offset":0,"tstype":"create","ts":1700000000000,"broker":1,)"
      R"("headers":["h","x"],"key":"k","payload":"v","leader_epoch":0,"producer_id":-1,)"
      R"("producer_epoch":-1,"sequence":-1,"transactional":false,"codec":"none",)"
      R"("segment":"00000000000000000040","position":4096,"batch_base_offset":0,)"
      R"("batch_last_offset":1,"crc_valid":true})"
      "\n");
}

TEST(RecordJson, AMarkerSaysWhatItIs) {
  const auto records = objects(tests::golden_commit_marker());
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(
      records[0],
      R"({"topic":"orders","partition":3,"offset":42,"tstype":"create","ts":1700000000100,"broker":1,)"
      R"("key":"\u0000\u0000\u0000\u0001","payload":"\u0000\u0000\u0000\u0000\u0000\u0007",)"
      R"("leader_epoch":5,"producer_id":1000,"producer_epoch":3,"sequence":-1,"transactional":true,)"
      R"("codec":"none","segment":"00000000000000000040","position":4096,"batch_base_offset":42,)"
      R"("batch_last_offset":42,"crc_valid":true,)"
      R"("control":{"type":"COMMIT","version":0,"coordinator_epoch":7}})"
      "\n");
}

TEST(RecordJson, AMessageOfMagicZeroHasNoTimeAndNoProducer) {
  const auto records = objects(tests::golden_lz4_magic_0());
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[1],
            R"({"topic":"orders","partition":3,"offset":201,"broker":1,"key":"k","payload":"v",)"
            R"("leader_epoch":-1,"producer_id":-1,"producer_epoch":-1,"sequence":-1,)"
            R"("transactional":false,"codec":"lz4","segment":"00000000000000000040",)"
            R"("position":4096,"batch_base_offset":202,"batch_last_offset":202,"crc_valid":true})"
            "\n");
}

TEST(RecordJson, ANullAndABinaryFieldAreToldApartHereToo) {
  const auto records = objects(tests::golden_tombstone());
  ASSERT_EQ(records.size(), 2U);
  EXPECT_NE(records[1].find(R"("key":"b","payload":null,"leader_epoch":7)"), std::string::npos)
      << records[1];
}

}  // namespace
}  // namespace offsetfs::fs
