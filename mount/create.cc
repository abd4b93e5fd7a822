#include "mount/create.h"

#include <cerrno>
#include <memory>

#include <CLI/CLI.hpp>

#include "mount/command_line.h"
#include "mount/option_list.h"
#include "mount/run.h"
#include "storage/log_writer.h"

namespace offsetfs::mount {
namespace {

using storage::Errc;
using storage::fail;
using storage::NewLog;
using storage::Result;

constexpr const char* kFooter = R"(
-o takes Kafka's topic settings, as -o segment.bytes=16777216,cleanup.policy=compact\,delete (a comma in a
value is written "\,"); they are kept beside the log (offsetfs.properties), and hold for whoever appends to
it with offsetfs. The least segment.bytes is )";
constexpr const char* kFooterBehindLeast = R"(.

Mind that a broker deletes what is older than a week, by the records' own times, unless retention.ms says
otherwise.

DIR is the log directory: the log becomes DIR/TOPIC-P, whose path is printed. DIR is made if it is not there.

Examples:
  offsetfs create /srv/logs --topic orders
  offsetfs create /srv/logs --topic audit --partition 3 -o segment.bytes=16777216,retention.ms=-1
  offsetfs create /srv/node --topic orders --broker -o retention.ms=-1
      then append, then: kafka-server-start.sh /srv/node/server.properties

Exit codes:
   0  made
   1  the command line makes no sense
   2  it could not be made: the line on stderr says why, and what to do
)";

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: offsetfs create DIR --topic TOPIC [--partition P] [-o SETTING=VALUE,...]\n";
  }
};

// What the kernel said is a reason; this is what to do about it.
std::string cure_of(const storage::Error& error) {
  switch (error.code == Errc::kIo ? error.sys_errno : 0) {
    case EACCES:
    case EPERM: return "; run this as somebody who may write there, or give another directory";
    case EROFS: return "; give a directory on a file system that can be written";
    case ENOSPC:
    case EDQUOT: return "; make room, then run this again: it finishes what it began";
    default: return "";
  }
}

Result<std::string> make(const NewLog& log) {
  if (!log.topic_partition.topic.empty()) return storage::create_log(log);
  RETURN_IF_ERROR(storage::make_broker_of(log.log_dir));
  return log.log_dir;
}

}  // namespace

Result<std::variant<NewLog, Printout>> parse_create(const std::vector<std::string>& arguments) {
  NewLog log;
  std::vector<std::string> lists;
  std::string topic_id;

  CLI::App app("Makes an empty partition log.\n", "offsetfs create");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_help_flag("-h,--help", "this text");
  app.add_option("DIR", log.log_dir)->group("")->option_text("DIR");
  app.add_option("--topic", log.topic_partition.topic, "the topic's name")->option_text("TOPIC");
  app.add_option("--partition", log.topic_partition.partition, "the partition's number (0)")
      ->option_text("P");
  app.add_option("-o", lists, "topic settings, below")
      ->allow_extra_args(false)
      ->option_text("SETTING=VALUE,...");
  app.add_option("--topic-id", topic_id,
                 "the topic's id in the cluster that is to have it (that of the topic's other "
                 "partitions in DIR, else a new one)")
      ->option_text("ID");
  app.add_flag("--broker", log.broker,
               "DIR becomes a whole node: a KRaft broker can be started on it at once, and has the "
               "logs that are there, and those made there until then; without --topic nothing else "
               "is made");
  app.add_flag("--force", log.force, "even in a directory that belongs to a broker");
  app.footer(std::string(kFooter) + std::to_string(storage::LogWriter::kLeastSegmentBytes) +
             kFooterBehindLeast);

  ASSIGN_OR_RETURN(auto help, parse_arguments(app, arguments));
  if (help) return std::move(*help);
  if (log.log_dir.empty())
    return fail(Errc::kInvalid, "create: no DIR given: offsetfs create DIR --topic TOPIC");
  if (log.topic_partition.topic.empty() && !log.broker)
    return fail(Errc::kInvalid,
                "create: no topic given: offsetfs create " + log.log_dir + " --topic TOPIC");
  const bool names_a_log = app.count("--partition") + app.count("--topic-id") + app.count("-o") > 0;
  if (log.topic_partition.topic.empty() && names_a_log)
    return fail(Errc::kInvalid,
                "create: --partition, --topic-id and -o are of a log that is made; give --topic "
                "too, or leave them out");
  if (!topic_id.empty()) {
    log.topic_id = storage::parse_uuid(topic_id);
    if (!log.topic_id || log.topic_id->is_zero())
      return fail(Errc::kInvalid, "--topic-id " + topic_id +
                                      ": expected 22 characters as partition.metadata and "
                                      "kafka-topics --describe have them");
  }
  for (const auto& list : lists) RETURN_IF_ERROR(apply_setting_list(list, log.settings));
  return log;
}

int run_create(const std::vector<std::string>& arguments) {
  const auto parsed = parse_create(arguments);
  if (!parsed) return fail_with(kExitUsage, parsed.error().what);
  if (const auto* printout = std::get_if<Printout>(&*parsed)) return show(*printout);
  const auto made = make(std::get<NewLog>(*parsed));
  if (!made)
    return fail_with(made.error().code == Errc::kInvalid ? kExitUsage : kExitFailed,
                     "create: " + made.error().what + cure_of(made.error()));
  if (const auto said = print(*made + "\n"); !said)
    return fail_with(kExitFailed, "create: " + said.error().what + "; made all the same: " + *made);
  return kExitOk;
}

}  // namespace offsetfs::mount
