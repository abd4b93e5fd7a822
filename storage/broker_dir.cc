#include "storage/broker_dir.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "storage/bootstrap_checkpoint.h"
#include "storage/java_properties.h"
#include "storage/leader_epochs.h"
#include "storage/log_dir_owner.h"
#include "storage/log_settings.h"
#include "storage/meta_properties.h"
#include "storage/partition_metadata.h"
#include "storage/topic_partition.h"
#include "storage/write_dir.h"

namespace offsetfs::storage {
namespace {

constexpr const char* kMetaProperties = "meta.properties";
constexpr const char* kBootstrap = "bootstrap.checkpoint";
constexpr const char* kServerProperties = "server.properties";
constexpr std::size_t kMostSmallFileBytes = 64 << 20;
constexpr std::int32_t kNodeId = 1;

constexpr const char* kServerPropertiesText =
    "# Written by offsetfs create --broker: one KRaft node, controller and broker, on loopback.\n"
    "process.roles=broker,controller\n"
    "node.id=1\n"
    "controller.quorum.voters=1@127.0.0.1:9093\n"
    "listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093\n"
    "advertised.listeners=PLAINTEXT://127.0.0.1:9092\n"
    "controller.listener.names=CONTROLLER\n"
    "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\n"
    "offsets.topic.replication.factor=1\n"
    "transaction.state.log.replication.factor=1\n"
    "transaction.state.log.min.isr=1\n"
    "share.coordinator.state.topic.replication.factor=1\n"
    "share.coordinator.state.topic.min.isr=1\n";

Result<std::string> real_path_of(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  if (real == nullptr) return fail_errno(errno, path);
  return std::string(real.get());
}

Result<std::optional<std::string>> read_if_there(const WriteDir& dir, const std::string& name) {
  auto text = dir.read_whole(name, kMostSmallFileBytes);
  if (text) return std::optional<std::string>(std::move(*text));
  if (text.error().code == Errc::kNotFound) return std::nullopt;
  return fail(std::move(text.error()));
}

struct Node {
  std::int32_t id = kNodeId;
  Uuid directory_id;
  std::optional<std::string> meta_properties;  // to be written
};

Result<Node> node_of(const WriteDir& log_dir) {
  ASSIGN_OR_RETURN(const auto text, read_if_there(log_dir, kMetaProperties));
  Node node;
  if (text) {
    const std::string name = log_dir.name_of(kMetaProperties);
    ASSIGN_OR_RETURN(const auto meta, parse_meta_properties(*text, name));
    if (!meta.directory_id || !meta.node_id)
      return fail(Errc::kInvalid, name + ": has no directory.id; remove it, to have it made anew");
    node.id = *meta.node_id;
    node.directory_id = *meta.directory_id;
    return node;
  }
  node.directory_id = random_uuid();
  node.meta_properties = render_java_properties({{"version", "1"},
                                                 {"node.id", std::to_string(kNodeId)},
                                                 {"cluster.id", random_uuid().to_string()},
                                                 {"directory.id", node.directory_id.to_string()},
                                                 {kMadeByOffsetfs, "true"}});
  return node;
}

// A log that a broker could not take would be lost to it in silence, as a stray.
Result<void> add_partition(const PosixWriteDir& log_dir, const TopicPartition& topic_partition,
                           std::map<std::string, BootstrapTopic>& topics) {
  ASSIGN_OR_RETURN(const auto dir, log_dir.open_below(topic_partition.to_string()));
  ASSIGN_OR_RETURN(const auto text, read_if_there(*dir, "partition.metadata"));
  const std::string name = dir->name_of("partition.metadata");
  if (!text)
    return fail(Errc::kInvalid, name +
                                    ": is not there, and without a topic's id no broker takes "
                                    "the log; move the directory away, or give it one");
  ASSIGN_OR_RETURN(const auto metadata, parse_partition_metadata(*text, name));
  ASSIGN_OR_RETURN(ConfigMap settings, read_log_settings(*dir));
  // The broker's own are not a topic's: server.properties would have them.
  std::erase_if(settings, [](const auto& setting) { return setting.first.starts_with("log."); });
  ASSIGN_OR_RETURN(const auto epochs_text, read_if_there(*dir, "leader-epoch-checkpoint"));
  ASSIGN_OR_RETURN(const auto epochs, parse_leader_epochs(epochs_text.value_or(""),
                                                          dir->name_of("leader-epoch-checkpoint")));

  const auto [found, is_new] = topics.try_emplace(topic_partition.topic);
  BootstrapTopic& topic = found->second;
  if (!is_new && topic.topic_id != metadata.topic_id)
    return fail(Errc::kInvalid, name + ": topic id " + metadata.topic_id.to_string() +
                                    ", another partition of " + topic.name + " has " +
                                    topic.topic_id.to_string() + "; a topic has one");
  if (!is_new && topic.settings != settings)
    return fail(Errc::kInvalid, dir->name_of(kLogSettingsFile) +
                                    ": not the settings of the other partitions of " + topic.name +
                                    ", and a cluster has one set for a topic; make them the same");
  topic.name = topic_partition.topic;
  topic.topic_id = metadata.topic_id;
  topic.settings = settings;
  topic.partitions.push_back({topic_partition.partition, epochs.latest().value_or(LeaderEpoch{0})});
  return {};
}

Result<std::vector<BootstrapTopic>> topics_in(const PosixWriteDir& log_dir) {
  ASSIGN_OR_RETURN(const auto names, log_dir.list_directories());
  std::map<std::string, BootstrapTopic> topics;
  for (const auto& name : names) {
    const auto parsed = parse_partition_dir(name);
    if (!parsed)
      return fail(Errc::kInvalid, log_dir.name_of(name) +
                                      ": no partition's name, and a broker does not start over a "
                                      "directory that is none; move it away");
    if (parsed->state != DirState::kLive) continue;
    RETURN_IF_ERROR(add_partition(log_dir, parsed->topic_partition, topics));
  }
  std::vector<BootstrapTopic> list;
  for (auto& [name, topic] : topics) {
    std::ranges::sort(topic.partitions, {}, &BootstrapPartition::partition);
    list.push_back(std::move(topic));
  }
  return list;
}

TimestampMs now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

}  // namespace

Result<void> check_no_broker_was_started(const WriteDir& log_dir) {
  ASSIGN_OR_RETURN(const auto owner, owner_of(log_dir));
  if (owner != LogDirOwner::kBroker) return {};
  return fail(Errc::kReadOnly,
              log_dir.name_of(kMetaProperties) +
                  ": a broker was started here already, and its topics are made through it; use "
                  "kafka-topics --create, or give another directory");
}

Result<void> make_broker_dir(const std::string& log_dir) {
  ASSIGN_OR_RETURN(const auto real_path, real_path_of(log_dir));
  ASSIGN_OR_RETURN(const auto dir,
                   PosixWriteDir::open(log_dir, make_io_backend(IoChoice::kPread, nullptr)));
  RETURN_IF_ERROR(check_no_broker_was_started(*dir));
  ASSIGN_OR_RETURN(const auto topics, topics_in(*dir));
  ASSIGN_OR_RETURN(const Node node, node_of(*dir));
  RETURN_IF_ERROR(dir->replace(
      kBootstrap, render_bootstrap_checkpoint(topics, node.id, node.directory_id, now())));
  if (!dir->info(kServerProperties))
    RETURN_IF_ERROR(
        dir->replace(kServerProperties,
                     kServerPropertiesText + render_java_properties({{"log.dirs", real_path}})));
  return node.meta_properties ? dir->replace(kMetaProperties, *node.meta_properties)
                              : Result<void>{};
}

}  // namespace offsetfs::storage
