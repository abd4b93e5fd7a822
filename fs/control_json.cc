#include "fs/control_json.h"

#include <variant>
#include <vector>

#include "fs/json_object.h"
#include "storage/control_record.h"

namespace offsetfs::fs {
namespace {

using storage::Bytes;

std::string hex(Bytes bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 0xf];
  }
  return text;
}

template <class Element, class Json>
std::string array(const std::vector<Element>& elements, const Json& json) {
  std::string text = "[";
  for (const Element& element : elements) {
    if (text.size() > 1) text += ',';
    text += json(element);
  }
  return text += "]";
}

std::string voter_json(const storage::LeaderChange::Voter& voter) {
  JsonObject object;
  object.number("voter_id", voter.voter_id);
  if (voter.voter_directory_id) {
    object.text("voter_directory_id", voter.voter_directory_id->to_string());
  }
  return object.take();
}

std::string endpoint_json(const storage::KRaftVoters::Endpoint& endpoint) {
  return JsonObject()
      .text("name", endpoint.name)
      .text("host", endpoint.host)
      .number("port", endpoint.port)
      .take();
}

std::string voter_json(const storage::KRaftVoters::Voter& voter) {
  return JsonObject()
      .number("voter_id", voter.voter_id)
      .text("voter_directory_id", voter.voter_directory_id.to_string())
      .raw("endpoints", array(voter.endpoints, endpoint_json))
      .raw("kraft_version_feature",
           JsonObject()
               .number("min_supported_version", voter.min_supported_version)
               .number("max_supported_version", voter.max_supported_version)
               .take())
      .take();
}

// Adds the fields of each kind of body.
struct AddBody {
  JsonObject& object;

  void operator()(std::monostate) const {}
  void operator()(const storage::EndTransactionMarker& marker) const {
    object.number("coordinator_epoch", marker.coordinator_epoch);
  }
  void operator()(const storage::LeaderChange& change) const {
    const auto json = [](const storage::LeaderChange::Voter& voter) { return voter_json(voter); };
    object.number("leader_id", change.leader_id);
    object.raw("voters", array(change.voters, json));
    object.raw("granting_voters", array(change.granting_voters, json));
  }
  void operator()(const storage::SnapshotHeader& header) const {
    object.number("last_contained_log_timestamp", header.last_contained_log_timestamp.value);
  }
  void operator()(const storage::SnapshotFooter&) const {}
  void operator()(const storage::KRaftVersion& version) const {
    object.number("kraft_version", version.kraft_version);
  }
  void operator()(const storage::KRaftVoters& voters) const {
    object.raw("voters", array(voters.voters, [](const storage::KRaftVoters::Voter& voter) {
                 return voter_json(voter);
               }));
  }
};

void add_bytes(JsonObject& object, std::string_view name, const std::optional<Bytes>& bytes) {
  bytes ? object.text(name, hex(*bytes)) : object.null(name);
}

}  // namespace

std::string control_json(const storage::Record& record) {
  JsonObject object;
  const auto control = storage::parse_control_record(record);
  if (!control) {
    object.text("error", control.error().what);
    add_bytes(object, "key", record.key);
    add_bytes(object, "value", record.value);
    return object.take();
  }
  const char* const name = storage::control_type_name(control->type);
  name != nullptr ? object.text("type", name) : object.number("type", control->type);
  object.number("version", control->version);
  std::visit(AddBody{object}, control->body);
  if (name == nullptr) add_bytes(object, "value", record.value);
  return object.take();
}

}  // namespace offsetfs::fs
