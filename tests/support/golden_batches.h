#pragma once

#include <string>
#include <vector>

namespace offsetfs::tests {

// Entries of a `.log` as Kafka's own classes wrote them, one of each kind.
std::string golden_two_records();    // base 0, leader epoch 0; times 1700000000000 and 5 ms later
std::string golden_commit_marker();  // offset 42, producer 1000, epoch 3, leader epoch 5
std::string golden_tombstone();      // 50..52 after compaction, with a delete horizon
std::string golden_empty_batch();    // 60..61, all records compacted away
std::string golden_v1_tombstone();   // magic 1, offset 7
std::string golden_snappy();         // xerial
std::string golden_zstd();           // no content size
std::string golden_lz4();            // magic 2, 200..202
std::string golden_lz4_magic_0();    // wrapper 202 over 200..202, old wrong header sum
std::vector<std::string> golden_batches();  // all of them

}  // namespace offsetfs::tests
