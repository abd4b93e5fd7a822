#include "fs/producer_table.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace offsetfs::fs {
namespace {

std::vector<storage::ProducerSnapshotEntry> two_producers() {
  storage::ProducerSnapshotEntry idle;
  idle.producer_id = 1000;
  idle.producer_epoch = 3;
  idle.last_timestamp = storage::TimestampMs{1'700'000'000'100};
  idle.coordinator_epoch = 7;
  storage::ProducerSnapshotEntry open;
  open.producer_id = 2000;
  open.producer_epoch = 0;
  open.last_sequence = 14;
  open.last_offset = storage::Offset{114};
  open.offset_delta = 9;
  open.last_timestamp = storage::TimestampMs{1'700'000'000'200};
  open.current_txn_first_offset = storage::Offset{100};
  return {idle, open};
}

TEST(ProducerTable, ARowAProducerBelowTheColumns) {
  EXPECT_EQ(producer_table(two_producers()),
            "producer_id\tproducer_epoch\tlast_sequence\tlast_offset\toffset_delta\t"
            "last_timestamp\tcoordinator_epoch\tcurrent_txn_first_offset\n"
            "1000\t3\t-1\t-1\t0\t1700000000100\t7\t-1\n"
            "2000\t0\t14\t114\t9\t1700000000200\t-1\t100\n");
}

TEST(ProducerTable, AnObjectAProducer) {
  EXPECT_EQ(producer_lines(two_producers()),
            R"({"producer_id":1000,"producer_epoch":3,"last_sequence":-1,"last_offset":-1,)"
            R"("offset_delta":0,"last_timestamp":1700000000100,"coordinator_epoch":7,)"
            R"("current_txn_first_offset":-1})"
            "\n"
            R"({"producer_id":2000,"producer_epoch":0,"last_sequence":14,"last_offset":114,)"
            R"("offset_delta":9,"last_timestamp":1700000000200,"coordinator_epoch":-1,)"
            R"("current_txn_first_offset":100})"
            "\n");
}

TEST(ProducerTable, WithoutProducersATableIsItsHeaderLine) {
  EXPECT_EQ(producer_table({}).find('\n'), producer_table({}).size() - 1);
  EXPECT_EQ(producer_lines({}), "");
}

}  // namespace
}  // namespace offsetfs::fs
