#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "storage/record.h"
#include "storage/result.h"
#include "storage/uuid.h"

namespace offsetfs::storage {

// What a record of a control batch says. It takes an offset and is never given to a consumer.
//
//   key   := version: i16 (0)  type: i16
//   value := version: i16, then by type
//     0 ABORT, 1 COMMIT   coordinator_epoch: i32                          (more may follow)
//     2 LEADER_CHANGE     leader_id: i32  voters: voter[]  granting_voters: voter[]  tags
//                         voter := voter_id: i32  [voter_directory_id: uuid, version 1]  tags
//     3 SNAPSHOT_HEADER   last_contained_log_timestamp: i64  tags
//     4 SNAPSHOT_FOOTER   tags
//     5 KRAFT_VERSION     kraft_version: i16  tags
//     6 KRAFT_VOTERS      voters: (voter_id: i32  voter_directory_id: uuid
//                         endpoints: (name: string  host: string  port: u16  tags)[]
//                         feature: (min: i16  max: i16  tags)  tags)[]  tags
//
// Arrays, strings and tags are in the flexible encoding (flexible_reader.h).
// Source: Kafka's ControlRecordType, EndTransactionMarker and the schemas named as the types are.

struct EndTransactionMarker {  // ABORT, COMMIT
  std::int32_t coordinator_epoch = 0;
};

struct LeaderChange {
  struct Voter {
    std::int32_t voter_id = 0;
    std::optional<Uuid> voter_directory_id;
  };
  std::int32_t leader_id = 0;
  std::vector<Voter> voters;
  std::vector<Voter> granting_voters;
};

struct SnapshotHeader {
  TimestampMs last_contained_log_timestamp;
};

struct SnapshotFooter {};

struct KRaftVersion {
  std::int16_t kraft_version = 0;
};

struct KRaftVoters {
  struct Endpoint {
    std::string name;
    std::string host;
    std::uint16_t port = 0;
  };
  struct Voter {
    std::int32_t voter_id = 0;
    Uuid voter_directory_id;
    std::vector<Endpoint> endpoints;
    std::int16_t min_supported_version = 0;
    std::int16_t max_supported_version = 0;
  };
  std::vector<Voter> voters;
};

struct ControlRecord {
  std::int16_t type = 0;
  std::int16_t version = 0;  // of the value; of the key where the type is unknown
  // std::monostate: a type that this program does not know.
  std::variant<std::monostate, EndTransactionMarker, LeaderChange, SnapshotHeader, SnapshotFooter,
               KRaftVersion, KRaftVoters>
      body;
};

// "ABORT" ... "KRAFT_VOTERS"; null for an unknown type.
const char* control_type_name(std::int16_t type);

// kCorrupt: no key or one that is too short, a negative key version, or a value that is not as its
// type wants it. Messages say what, not where.
Result<ControlRecord> parse_control_record(const Record& record);

}  // namespace offsetfs::storage
