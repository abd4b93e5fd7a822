#include "storage/log_dir_owner.h"

#include "storage/java_properties.h"

namespace offsetfs::storage {
namespace {

constexpr const char* kMetaProperties = "meta.properties";
constexpr const char* kMetadataLog = "__cluster_metadata-0";
constexpr std::size_t kMostBytes = 1 << 20;

}  // namespace

Result<LogDirOwner> owner_of(const WriteDir& log_dir) {
  const auto text = log_dir.read_whole(kMetaProperties, kMostBytes);
  if (!text && text.error().code == Errc::kNotFound) return LogDirOwner::kNobody;
  if (!text) return fail(text.error());
  const auto properties = parse_java_properties(*text, log_dir.name_of(kMetaProperties));
  const bool ours =
      properties && properties->contains(kMadeByOffsetfs) && !log_dir.info(kMetadataLog);
  return ours ? LogDirOwner::kOurs : LogDirOwner::kBroker;
}

Result<void> check_not_a_brokers(const WriteDir& log_dir) {
  ASSIGN_OR_RETURN(const auto owner, owner_of(log_dir));
  if (owner != LogDirOwner::kBroker) return {};
  return fail(Errc::kReadOnly,
              log_dir.name_of(kMetaProperties) +
                  " says that a broker writes here; give a directory of your own, or --force if "
                  "that broker is gone for good");
}

}  // namespace offsetfs::storage
