#include "storage/control_record.h"

#include <array>
#include <cstddef>
#include <utility>

#include "storage/byte_reader.h"
#include "storage/flexible_reader.h"

namespace offsetfs::storage {
namespace {

enum Type : std::int16_t {
  kAbort = 0,
  kCommit = 1,
  kLeaderChange = 2,
  kSnapshotHeader = 3,
  kSnapshotFooter = 4,
  kKRaftVersion = 5,
  kKRaftVoters = 6,
};

constexpr std::array kTypeNames{"ABORT",           "COMMIT",          "LEADER_CHANGE",
                                "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER", "KRAFT_VERSION",
                                "KRAFT_VOTERS"};

// uv (count + 1; 0 = null, taken as empty). However many the count claims, the bytes end first.
template <class Element, class Read>
std::vector<Element> read_array(FlexibleReader& reader, const Read& read) {
  std::vector<Element> elements;
  const std::uint32_t count = reader.uvarint();
  for (std::uint32_t i = 1; i < count && reader.ok(); ++i) elements.push_back(read());
  return elements;
}

std::vector<LeaderChange::Voter> read_leader_change_voters(FlexibleReader& reader,
                                                           std::int16_t version) {
  return read_array<LeaderChange::Voter>(reader, [&] {
    LeaderChange::Voter voter;
    voter.voter_id = reader.i32();
    if (version >= 1) voter.voter_directory_id = reader.uuid();
    reader.tags();
    return voter;
  });
}

LeaderChange read_leader_change(FlexibleReader& reader, std::int16_t version) {
  LeaderChange change;
  change.leader_id = reader.i32();
  change.voters = read_leader_change_voters(reader, version);
  change.granting_voters = read_leader_change_voters(reader, version);
  return change;
}

KRaftVoters::Endpoint read_endpoint(FlexibleReader& reader) {
  KRaftVoters::Endpoint endpoint;
  endpoint.name = reader.string();
  endpoint.host = reader.string();
  endpoint.port = static_cast<std::uint16_t>(reader.i16());
  reader.tags();
  return endpoint;
}

KRaftVoters read_kraft_voters(FlexibleReader& reader) {
  KRaftVoters voters;
  voters.voters = read_array<KRaftVoters::Voter>(reader, [&] {
    KRaftVoters::Voter voter;
    voter.voter_id = reader.i32();
    voter.voter_directory_id = reader.uuid();
    voter.endpoints =
        read_array<KRaftVoters::Endpoint>(reader, [&] { return read_endpoint(reader); });
    voter.min_supported_version = reader.i16();
    voter.max_supported_version = reader.i16();
    reader.tags();
    reader.tags();
    return voter;
  });
  return voters;
}

// Behind the version. Tags end each of these but the transaction markers, which are no schema's.
void read_body(FlexibleReader& reader, ControlRecord& control) {
  switch (control.type) {
    case kAbort:
    case kCommit: control.body = EndTransactionMarker{reader.i32()}; return;
    case kLeaderChange: control.body = read_leader_change(reader, control.version); break;
    case kSnapshotHeader: control.body = SnapshotHeader{{reader.i64()}}; break;
    case kSnapshotFooter: control.body = SnapshotFooter{}; break;
    case kKRaftVersion: control.body = KRaftVersion{reader.i16()}; break;
    case kKRaftVoters: control.body = read_kraft_voters(reader); break;
    default: break;
  }
  reader.tags();
}

}  // namespace

const char* control_type_name(std::int16_t type) {
  return type < 0 || static_cast<std::size_t>(type) >= kTypeNames.size()
             ? nullptr
             : kTypeNames[static_cast<std::size_t>(type)];
}

Result<ControlRecord> parse_control_record(const Record& record) {
  ByteReader key(record.key.value_or(Bytes{}));
  ControlRecord control;
  control.version = key.i16();
  control.type = key.i16();
  if (!key.ok()) {
    return fail(Errc::kCorrupt, "control record: a key of " +
                                    std::to_string(record.key ? record.key->size() : 0) +
                                    " bytes, expected 4");
  }
  if (control.version < 0) {
    return fail(Errc::kCorrupt, "control record: key version " + std::to_string(control.version));
  }
  const char* const name = control_type_name(control.type);
  if (name == nullptr) return control;

  FlexibleReader value(record.value.value_or(Bytes{}));
  control.version = value.i16();
  read_body(value, control);
  if (!value.ok()) {
    return fail(Errc::kCorrupt, std::string("control record: a ") + name + " value of " +
                                    std::to_string(record.value ? record.value->size() : 0) +
                                    " bytes that ends too early");
  }
  return control;
}

}  // namespace offsetfs::storage
