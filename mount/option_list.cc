#include "mount/option_list.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "fs/time_expression.h"
#include "storage/codec.h"
#include "storage/log_config.h"

namespace offsetfs::mount {
namespace {

using storage::Errc;
using storage::fail;
using storage::Result;

constexpr unsigned kMostThreads = 256;
constexpr std::int64_t kMostLingerMs = 3'600'000;

std::optional<std::int64_t> parse_count(std::string_view text) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || end != text.data() + text.size() || count < 0) return {};
  return count;
}

storage::TimestampMs clock_now() {
  using namespace std::chrono;
  return {duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count()};
}

bool set_list_limit(std::string_view value, Options& options) {
  const auto limit = value == "all" ? fs::FileSystemOptions::kListAll : parse_count(value);
  if (!limit) return false;
  options.tree.list_limit = *limit;
  return true;
}

bool set_now(std::string_view value, Options& options) {
  options.tree.now = fs::parse_time(value, clock_now());
  return options.tree.now.has_value();
}

bool set_decompressed_limit(std::string_view value, Options& options) {
  const auto bytes = parse_bytes(value);
  if (!bytes || *bytes == 0) return false;
  options.tree.decompressed_limit_bytes = *bytes;
  return true;
}

bool set_io(std::string_view value, Options& options) {
  using storage::IoChoice;
  if (value == "auto") return options.io = IoChoice::kAuto, true;
  if (value == "ring") return options.io = IoChoice::kRing, true;
  if (value == "pread") return options.io = IoChoice::kPread, true;
  return false;
}

bool set_io_timeout(std::string_view value, Options& options) {
  constexpr std::int64_t kMostSeconds = 86'400;
  const auto seconds = parse_count(value);
  if (!seconds || *seconds < 1 || *seconds > kMostSeconds) return false;
  options.tree.io_timeout_ms = *seconds * 1000;
  return true;
}

bool set_until(std::string_view value, Options& options) {
  options.until_high_watermark = value == "high_watermark";
  return options.until_high_watermark || value == "log_end";
}

bool set_watch(std::string_view value, Options& options) {
  using How = storage::LogWatcher::How;
  if (value == "auto") return options.watch = How::kAuto, true;
  if (value == "poll") return options.watch = How::kPoll, true;
  return false;
}

bool set_threads(std::string_view value, Options& options) {
  const auto threads = parse_count(value);
  if (!threads || *threads < 1 || *threads > kMostThreads) return false;
  options.tree.threads = static_cast<int>(*threads);
  return true;
}

bool set_linger(std::string_view value, Options& options) {
  const auto linger_ms = parse_count(value);
  if (!linger_ms || *linger_ms > kMostLingerMs) return false;
  options.given_for_append = "linger.ms";
  options.appending.linger_ms = *linger_ms;
  return true;
}

bool set_batch_bytes(std::string_view value, Options& options) {
  const auto bytes = parse_bytes(value);
  if (!bytes || *bytes == 0) return false;
  options.given_for_append = "batch.bytes";
  options.appending.batch_bytes = *bytes;
  return true;
}

bool set_compression(std::string_view value, Options& options) {
  options.given_for_append = "compression";
  options.appending.codec = storage::codec_named(value);
  return options.appending.codec.has_value();
}

bool set_log_level(std::string_view value, Options& options) {
  using fs::LogLevel;
  if (value == "info") return options.log_level = LogLevel::kInfo, true;
  if (value == "warning") return options.log_level = LogLevel::kWarning, true;
  if (value == "error") return options.log_level = LogLevel::kError, true;
  return false;
}

bool set_text(std::string_view value, std::string& text) {
  text = value;
  return !value.empty();
}

bool set_key_separator(std::string_view value, Options& options) {
  options.given_for_append = "key_separator";
  return set_text(value, options.appending.key_separator);
}

constexpr OptionRow kRows[] = {
    {"list", "N|all", "names that a listing of offsets/ gives before it ends with EFBIG (100000)",
     set_list_limit},
    {"control", "", "transaction markers are shown as records",
     [](std::string_view, Options& options) { return options.tree.show_control = true; }},
    {"now", "TIME", "what 'now' means in time/ (the clock)", set_now},
    {"max_decompressed", "BYTES", "a batch that decompresses to more is refused (256M)",
     set_decompressed_limit},
    {"append", "", "what is written to append and append.jsonl becomes records of the log",
     [](std::string_view, Options& options) { return options.append = true; }},
    {"linger.ms", "MS", "with append: how long a batch waits for more records (0)", set_linger},
    {"batch.bytes", "BYTES", "with append: what a batch holds at most, uncompressed (16384)",
     set_batch_bytes},
    {"compression", "none|gzip|snappy|lz4|zstd",
     "with append: the codec of batches (the topic's compression.type)", set_compression},
    {"key_separator", "TEXT", "with append: lines are KEY, TEXT, VALUE (lines have no keys)",
     set_key_separator},
    {"force", "", "with append: even in a directory that belongs to a broker; as --force",
     [](std::string_view, Options& options) {
       options.given_for_append = "force";
       return options.appending.force = true;
     }},
    {"allow_other", "", "other users may look in, as far as the source's modes allow",
     [](std::string_view, Options& options) {
       return options.allow_other = options.default_permissions = true;
     }},
    {"default_permissions", "", "the kernel checks modes (always with allow_other)",
     [](std::string_view, Options& options) { return options.default_permissions = true; }},
    {"nonempty", "", "the mount point may hold files; the mount hides them",
     [](std::string_view, Options& options) { return options.nonempty = true; }},
    {"config", "FILE", "as --config",
     [](std::string_view value, Options& options) { return set_text(value, options.config); }},
    {"metadata_log", "DIR", "as --metadata-log",
     [](std::string_view value, Options& options) {
       return set_text(value, options.metadata_log);
     }},
    {"log_file", "FILE", "as --log-file",
     [](std::string_view value, Options& options) { return set_text(value, options.log_file); }},
    {"log_level", "info|warning|error", "the least that is logged (info)", set_log_level},
    {"threads", "1..256", "requests that are answered at once (10)", set_threads},
    {"io", "auto|ring|pread", "how the source is read; auto: io_uring where the kernel allows it",
     set_io},
    {"io_timeout", "SECONDS", "a read of a network or FUSE source that takes longer fails (30)",
     set_io_timeout},
    {"until", "log_end|high_watermark", "where the log ends for readers (log_end)", set_until},
    {"watch", "auto|poll", "how changes are noticed; auto: inotify where the kernel tells them",
     set_watch},
};

// What mount(8), mount.fuse3 and fstab send along. `rw` is among them because mount(8) says it
// whenever nobody said `ro`.
constexpr std::string_view kPassedOver[] = {
    "rw",         "ro",          "dev",        "nodev",       "suid",          "nosuid",
    "exec",       "noexec",      "auto",       "noauto",      "user",          "nouser",
    "users",      "owner",       "group",      "nofail",      "_netdev",       "defaults",
    "sync",       "async",       "dirsync",    "atime",       "noatime",       "diratime",
    "nodiratime", "relatime",    "norelatime", "strictatime", "nostrictatime", "lazytime",
    "nolazytime", "iversion",    "noiversion", "silent",      "loud",          "mand",
    "nomand",     "nosymfollow", "symfollow",
};
constexpr std::string_view kPassedOverPrefixes[] = {"x-", "X-", "comment=", "user=", "uhelper="};

// Words of libfuse and the kernel that would undo what this program stands for.
struct RefusedWord {
  std::string_view name;
  std::string_view reason;
};
constexpr RefusedWord kRefused[] = {
    {"fsname", "it is the source's path"},
    {"subtype", "it is offsetfs"},
    {"uid", "owners are the source's"},
    {"gid", "groups are the source's"},
    {"umask", "modes are the source's"},
    {"rootmode", "libfuse sets it"},
    {"max_read", "it is the largest there is"},
    {"auto_unmount", "a mount left by a killed offsetfs is cleared when it is mounted again"},
    {"remount", "unmount it and mount it again"},
};

bool is_passed_over(std::string_view word) {
  return std::ranges::find(kPassedOver, word) != std::end(kPassedOver) ||
         std::ranges::any_of(kPassedOverPrefixes,
                             [&](std::string_view prefix) { return word.starts_with(prefix); });
}

// Levenshtein's distance.
std::size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string_view nearest(std::string_view name, const std::vector<std::string_view>& names) {
  return *std::ranges::min_element(
      names, {}, [&](std::string_view known) { return edits_between(name, known); });
}

std::string_view nearest_name(std::string_view name) {
  auto names = storage::setting_names();
  for (const auto& row : kRows) names.push_back(row.name);
  return nearest(name, names);
}

Result<void> refuse(std::string_view name) {
  const std::string option = "-o " + std::string(name);
  const auto refused = std::ranges::find(kRefused, name, &RefusedWord::name);
  if (refused != std::end(kRefused))
    return fail(Errc::kInvalid,
                option + " can't be set: " + std::string(refused->reason) + "; leave it out");
  return fail(Errc::kInvalid, option + ": no such option; did you mean " +
                                  std::string(nearest_name(name)) + "? --help lists them all");
}

std::string spell(const OptionRow& row) {
  std::string spelled(row.name);
  if (!row.value.empty()) spelled.append("=").append(row.value);
  return spelled;
}

// Topic settings by hand. kNotFound: no such setting.
Result<void> apply_setting(std::string_view name, std::string_view value, Options& options) {
  RETURN_IF_ERROR(storage::check_setting(name, value));
  options.tree.settings.command_line.insert_or_assign(std::string(name), std::string(value));
  return {};
}

Result<void> apply_word(std::string_view word, Options& options) {
  if (word.empty() || is_passed_over(word)) return {};
  const auto equals = word.find('=');
  const auto name = word.substr(0, equals);
  const auto row = std::ranges::find(kRows, name, &OptionRow::name);
  const bool has_value = equals != std::string_view::npos;
  const auto value = has_value ? word.substr(equals + 1) : std::string_view{};
  if (row == std::end(kRows)) {
    auto set = apply_setting(name, value, options);
    if (set || set.error().code != Errc::kNotFound) return set;
    return refuse(name);
  }
  if (has_value == row->value.empty() || !row->apply(value, options))
    return fail(Errc::kInvalid, "-o " + std::string(word) + ": expected " + spell(*row));
  return {};
}

std::vector<std::string> split_list(std::string_view list) {
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const bool escaped = list[i] == '\\' && i + 1 < list.size();
    if (!escaped && list[i] == ',')
      words.emplace_back();
    else
      words.back() += list[escaped ? ++i : i];
  }
  return words;
}

}  // namespace

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  constexpr std::string_view kSuffixes = "KMGT";
  int shift = 0;
  if (!text.empty()) {
    const char last = text.back() == 'k' ? 'K' : text.back();
    if (const auto index = kSuffixes.find(last); index != std::string_view::npos) {
      shift = 10 * (static_cast<int>(index) + 1);
      text.remove_suffix(1);
    }
  }
  const auto count = parse_count(text);
  if (!count || *count > (std::numeric_limits<std::int64_t>::max() >> shift)) return {};
  return *count << shift;
}

std::span<const OptionRow> option_rows() { return kRows; }

Result<void> apply_option_list(std::string_view list, Options& options) {
  for (const auto& word : split_list(list)) RETURN_IF_ERROR(apply_word(word, options));
  return {};
}

Result<void> apply_setting_list(std::string_view list, storage::ConfigMap& settings) {
  for (const auto& word : split_list(list)) {
    if (word.empty()) continue;
    const auto equals = word.find('=');
    const auto name = word.substr(0, equals);
    const auto value = equals == std::string::npos ? std::string() : word.substr(equals + 1);
    auto known = storage::check_setting(name, value);
    if (!known && known.error().code == Errc::kNotFound)
      return fail(Errc::kInvalid, "-o " + name + ": no such setting; did you mean " +
                                      std::string(nearest(name, storage::setting_names())) + "?");
    RETURN_IF_ERROR(std::move(known));
    settings.insert_or_assign(name, value);
  }
  return {};
}

std::string describe_option_list() {
  std::size_t width = 0;
  for (const auto& row : kRows) width = std::max(width, spell(row).size());
  std::string text;
  for (const auto& row : kRows) {
    auto spelled = spell(row);
    spelled.resize(width + 2, ' ');
    text += "  " + spelled + std::string(row.help) + "\n";
  }
  return text;
}

}  // namespace offsetfs::mount
