#include "tests/support/golden_batches.h"

#include "tests/support/hex.h"

namespace offsetfs::tests {

std::string golden_two_records() {
  return unhex(
      "0000000000000000000000450000000002c41f17300000000000010000018bcfe568000000018bcfe56805ff"
      "ffffffffffffffffffffffffff0000000218000000026b027602026802780c000a02010000");
}

std::string golden_commit_marker() {
  return unhex(
      "000000000000002a0000004200000005021fb1fa280030000000000000018bcfe568640000018bcfe5686400"
      "000000000003e80003ffffffff000000012000000008000000010c00000000000700");
}

std::string golden_tombstone() {
  return unhex(
      "0000000000000032000000460000000702141e9b7d0040000000020000000000018a88000000000000138"
      "9ffffffffffffffffffffffffffff000000021400ffdb0b0002610278001200fddb0b0202620100");
}

std::string golden_empty_batch() {
  return unhex(
      "000000000000003c000000310000000902855d2c0d000000000001ffffffffffffffff0000000000001391"
      "00000000000003e800030000000700000000");
}

std::string golden_v1_tombstone() {
  return unhex("00000000000000070000001783e991c601000000018bcfe56800000000016bffffffff");
}

std::string golden_snappy() {
  return unhex(
      "000000000000000000000050ffffffff02bc77c20100020000000000000000000000640000000000000064ff"
      "ffffffffffffffffffffffffff0000000182534e415050590000000001000000010000000b09201000000002"
      "6b027600");
}

std::string golden_zstd() {
  return unhex(
      "000000000000000000000046ffffffff02edead39600040000000000000000000000640000000000000064ff"
      "ffffffffffffffffffffffffff0000000128b52ffd005848000010000000026b027600010000");
}

std::string golden_lz4() {
  return unhex(
      "00000000000000c800000058ffffffff0268adb80a0003000000020000000000002328000000000000232aff"
      "ffffffffffffffffffffffffff0000000304224d1860408218000000d310000000026b027600100002020900"
      "700404026b02760000000000");
}

std::string golden_lz4_magic_0() {
  return unhex(
      "00000000000000ca00000048f15d70c00003ffffffff0000003a04224d1860401a2b0000001200010091c800"
      "0000101fecd70a0f0071016b00000001760c003f0000c91c00081bca1c0050000000017600000000");
}

std::vector<std::string> golden_batches() {
  return {golden_two_records(), golden_commit_marker(), golden_tombstone(),
          golden_empty_batch(), golden_v1_tombstone(),  golden_snappy(),
          golden_zstd(),        golden_lz4(),           golden_lz4_magic_0()};
}

}  // namespace offsetfs::tests
