// Readers of a partition under load, which know every byte that they should get. Record n of the
// log has the offset n, no key, a time that moves on by 1 ms every 1,000 records, and a value of
// 100 bytes that n gives.
//
//   load_reader follow SLOTS SLOT FILE SUFFIX [hold]
//       FILE is follow/0.SUFFIX; every record in order. With `hold` it stops after its first read
//       until it may go on, and gaps are told.
//   load_reader tail SLOTS SLOT SUFFIX
//       What `tail -F` prints, on standard input: whole lines, each record at most once, in order.
//   load_reader random SLOTS SLOT PARTITION SEED
//       offsets/N, pread and mmap of segments at random.
//
// SLOTS is a file of int64 that all of them map: the log's end, -1 until it is known; whether the
// tails and random readers may end; whether the held one may go on; the time of record 0; then a
// slot for each reader: the last offset it has. Prints one line of JSON at its end; "error" is
// empty when all was right.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

using Slot = std::atomic<std::int64_t>;
static_assert(sizeof(Slot) == sizeof(std::int64_t));

enum : std::size_t { END = 0, STOP = 1, RELEASE = 2, TIME = 3 };
constexpr std::size_t SLOT_COUNT = 32;
constexpr std::int64_t VALUE_BYTES = 100;
constexpr std::int64_t LINE_BYTES = VALUE_BYTES + 1;  // of `.values`

Slot* slots = nullptr;
Slot* mine = nullptr;

struct Wrong {
  std::string what;
};

[[noreturn]] void wrong(const std::string& what) { throw Wrong{what}; }
[[noreturn]] void failed(const std::string& what) { wrong(what + ": " + std::strerror(errno)); }

std::string value_of(std::int64_t n) {
  char digits[24];
  std::snprintf(digits, sizeof digits, "%020lld", static_cast<long long>(n));
  std::string value = digits;
  while (static_cast<std::int64_t>(value.size()) < VALUE_BYTES)
    value += static_cast<char>('a' + (n + static_cast<std::int64_t>(value.size())) % 26);
  return value;
}

std::string line_of(std::int64_t n, std::string_view suffix) {
  const std::string time = std::to_string(slots[TIME] + n / 1000);
  if (suffix == "values") return value_of(n);
  if (suffix == "tsv") return std::to_string(n) + '\t' + time + "\t\\N\t" + value_of(n);
  return R"({"topic":"load","partition":0,"offset":)" + std::to_string(n) +
         R"(,"tstype":"create","ts":)" + time + R"(,"broker":1,"key":null,"payload":")" +
         value_of(n) + R"("})";
}

/// The offset that a line claims to be of.
std::int64_t claimed(std::string_view line, std::string_view suffix) {
  std::size_t begin = 0;
  if (suffix == "jsonl") {
    constexpr std::string_view NAME = "\"offset\":";
    begin = line.find(NAME);
    if (begin == line.npos) wrong("a line without an offset: " + std::string(line));
    begin += NAME.size();
  }
  return std::strtoll(std::string(line.substr(begin, 20)).c_str(), nullptr, 10);
}

std::int64_t checked(std::string_view line, std::string_view suffix) {
  const std::int64_t n = claimed(line, suffix);
  if (line != line_of(n, suffix)) wrong("not the line of any record: " + std::string(line));
  return n;
}

/// Lines as they come, whatever the pieces.
class Lines {
 public:
  Lines(std::string suffix, bool with_header)
      : suffix_(std::move(suffix)), header_(with_header && suffix_ == "tsv") {}

  void take(std::string_view data) {
    rest_ += data;
    std::size_t begin = 0;
    for (std::size_t end; (end = rest_.find('\n', begin)) != rest_.npos; begin = end + 1)
      line(std::string_view(rest_).substr(begin, end - begin));
    rest_.erase(0, begin);
  }

  void end() const {
    if (!rest_.empty()) wrong("half a line at the end: " + rest_);
  }

  std::string told(bool with_gaps) const {
    std::string gaps;
    for (const auto& [from, to] : gaps_)
      gaps += (gaps.empty() ? "[" : ", [") + std::to_string(from) + ", " + std::to_string(to) + "]";
    return "\"records\": " + std::to_string(records_) + ", \"last\": " + std::to_string(last_) +
           ", \"jumps\": " + std::to_string(gaps_.size()) +
           (with_gaps ? ", \"gaps\": [" + gaps + "]" : "");
  }

  std::int64_t last() const { return last_; }

 private:
  void line(std::string_view line) {
    if (header_) {
      if (line != "offset\ttimestamp\tkey\tvalue") wrong("not the header: " + std::string(line));
      header_ = false;
      return;
    }
    const std::int64_t n = checked(line, suffix_);
    if (n <= last_) wrong("record " + std::to_string(n) + " came after " + std::to_string(last_));
    if (last_ >= 0 && n != last_ + 1) gaps_.emplace_back(last_ + 1, n - 1);
    last_ = n;
    ++records_;
    mine->store(n, std::memory_order_relaxed);
  }

  std::string suffix_;
  bool header_;
  std::string rest_;
  std::int64_t last_ = -1, records_ = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> gaps_;
};

void follow(const std::string& path, Lines& lines, bool hold) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) failed("open of " + path);
  std::vector<char> buffer(hold ? 4096 : 1 << 17);
  while (slots[END] < 0 || lines.last() < slots[END]) {
    const ssize_t got = ::read(file, buffer.data(), buffer.size());
    if (got < 0) failed("read of " + path);
    if (got == 0) wrong("the stream ended");
    lines.take({buffer.data(), static_cast<std::size_t>(got)});
    while (hold && slots[RELEASE] == 0) ::usleep(10'000);
  }
  ::close(file);
}

void tail(Lines& lines) {
  std::vector<char> buffer(1 << 16);
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0) failed("read of tail's output");
    if (got == 0) return lines.end();
    lines.take({buffer.data(), static_cast<std::size_t>(got)});
  }
}

/// Questions to the mount, whose answers may be "not there" only where the log start has passed
/// them.
class Random {
 public:
  Random(std::string partition, unsigned seed) : partition_(std::move(partition)), random_(seed) {}

  void run() {
    while (slots[STOP] == 0) {
      switch (below(8)) {
        case 0: segment(&Random::lines_of); break;
        case 1: segment(&Random::mapped); break;
        case 2: segment(&Random::pieces); break;
        case 3: held_segment(); break;
        default: offset(); break;
      }
      ++*mine;
    }
  }

  std::string told() const {
    return "\"lookups\": " + std::to_string(lookups_) +
           ", \"segments\": " + std::to_string(segments_) + ", \"kept\": " + std::to_string(kept_) +
           ", \"gone\": " + std::to_string(gone_);
  }

 private:
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(bound));
  }

  /// Empty, and errno is ENOENT: not there. All else that fails is wrong.
  std::string whole(const std::string& path) {
    const int file = ::open((partition_ + "/" + path).c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) {
      if (errno != ENOENT) failed("open of " + path);
      return {};
    }
    std::string text;
    char buffer[4096];
    ssize_t got;
    while ((got = ::read(file, buffer, sizeof buffer)) > 0)
      text.append(buffer, static_cast<std::size_t>(got));
    const int error = errno;
    ::close(file);
    errno = error;
    if (got < 0 && errno != ENOENT) failed("read of " + path);
    if (got < 0) text.clear();
    return text;
  }

  std::int64_t state(const std::string& name) {
    const std::string text = whole("state/" + name);
    if (text.empty()) wrong("no state/" + name);
    return std::stoll(text);
  }

  void offset() {
    const std::int64_t start = state("log_start_offset"), end = state("log_end_offset");
    if (start >= end) return;
    for (int i = 0; i < 20; ++i) {
      const std::int64_t n = start + below(end - start);
      const std::string value = whole("offsets/" + std::to_string(n));
      ++lookups_;
      if (value == value_of(n)) continue;
      if (!value.empty()) wrong("offsets/" + std::to_string(n) + ": " + value);
      if (n >= state("log_start_offset")) wrong("offsets/" + std::to_string(n) + " is not there");
      ++gone_;
    }
  }

  struct Opened {
    int file;
    std::int64_t base, size;
    std::string name;
  };

  std::vector<std::string> segments() const {
    std::vector<std::string> names;
    DIR* listing = ::opendir((partition_ + "/segments").c_str());
    if (!listing) failed("opendir of segments");
    for (errno = 0; const dirent* entry = ::readdir(listing);)
      if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    if (errno != 0) failed("readdir of segments");
    ::closedir(listing);
    return names;
  }

  template <class Use>
  void with(const std::string& base, const char* suffix, Use use) {
    const std::string name = "segments/" + base + "/records." + suffix;
    const int file = ::open((partition_ + "/" + name).c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) {
      if (errno != ENOENT) failed("open of " + name);
      if (std::stoll(base) >= state("log_start_offset")) wrong(name + " is not there");
      ++gone_;
      return;
    }
    struct stat status;
    if (::fstat(file, &status) != 0) failed("fstat of " + name);
    ++segments_;
    use(Opened{file, std::stoll(base), status.st_size, name});
    ::close(file);
  }

  void segment(void (Random::*use)(const Opened&)) {
    const auto names = segments();
    if (names.empty()) return;
    const auto& base =
        names[static_cast<std::size_t>(below(static_cast<std::int64_t>(names.size())))];
    with(base, use == &Random::lines_of ? "jsonl" : "values",
         [&](const Opened& opened) { (this->*use)(opened); });
  }

  std::string piece(const Opened& opened, std::int64_t position, std::int64_t bytes) {
    std::string data(static_cast<std::size_t>(bytes), '\0');
    const ssize_t got = ::pread(opened.file, data.data(), data.size(), position);
    if (got < 0) failed("pread of " + opened.name);
    data.resize(static_cast<std::size_t>(got));
    if (got < std::min(bytes, opened.size - position))
      wrong(opened.name + ": a short read at " + std::to_string(position) + " of " +
            std::to_string(opened.size));
    return data;
  }

  static void check_values(const Opened& opened, std::int64_t position, std::string_view data) {
    std::string expected;
    const auto skip = static_cast<std::size_t>(position % LINE_BYTES);
    for (std::int64_t n = opened.base + position / LINE_BYTES; expected.size() < skip + data.size();
         ++n)
      expected += value_of(n) + '\n';
    if (std::string_view(expected).substr(skip, data.size()) != data)
      wrong(opened.name + ": wrong bytes at " + std::to_string(position));
  }

  void pieces(const Opened& opened) {
    if (opened.size % LINE_BYTES != 0) wrong(opened.name + " ends in the midst of a line");
    if (opened.size == 0) return;
    for (int i = 0; i < 20; ++i) {
      const std::int64_t position = below(opened.size);
      check_values(opened, position, piece(opened, position, 1 + below(20'000)));
    }
  }

  void mapped(const Opened& opened) {
    if (opened.size == 0) return;
    const auto bytes = static_cast<std::size_t>(opened.size);
    void* map = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, opened.file, 0);
    if (map == MAP_FAILED) failed("mmap of " + opened.name);
    for (int i = 0; i < 10; ++i) {
      const std::int64_t position = below(opened.size);
      const std::int64_t length = std::min<std::int64_t>(opened.size - position, 5000);
      check_values(opened, position,
                   {static_cast<const char*>(map) + position, static_cast<std::size_t>(length)});
    }
    ::munmap(map, bytes);
  }

  void lines_of(const Opened& opened) {
    if (opened.size == 0) return;
    for (int i = 0; i < 5; ++i) {
      const std::int64_t position = below(opened.size);
      const std::string data = piece(opened, position, 20'000);
      std::int64_t next = -1;
      std::size_t begin = data.find('\n');
      if (begin == data.npos) continue;
      for (std::size_t end; (end = data.find('\n', begin + 1)) != data.npos; begin = end) {
        const std::int64_t n =
            checked(std::string_view(data).substr(begin + 1, end - begin - 1), "jsonl");
        if (next >= 0 ? n != next : n < opened.base)
          wrong(opened.name + ": record " + std::to_string(n) + " is out of place");
        next = n + 1;
      }
    }
  }

  /// The oldest segment, read to its end once it was renamed and, mostly, unlinked.
  void held_segment() {
    const auto names = segments();
    if (names.empty()) return;
    with(names.front(), "values", [&](const Opened& opened) {
      const std::string folder = partition_ + "/segments/" + names.front();
      for (int i = 0; i < 50 && slots[STOP] == 0 && ::access(folder.c_str(), F_OK) == 0; ++i)
        ::usleep(100'000);
      if (::access(folder.c_str(), F_OK) != 0) ++kept_;
      if (slots[STOP] == 0) ::usleep(1'500'000);  // longer than file.delete.delay.ms
      for (std::int64_t position = 0; position < opened.size; position += 1 << 16)
        check_values(
            opened, position,
            piece(opened, position, std::min<std::int64_t>(1 << 16, opened.size - position)));
    });
  }

  std::string partition_;
  std::mt19937_64 random_;
  std::int64_t lookups_ = 0, segments_ = 0, kept_ = 0, gone_ = 0;
};

void map_slots(const char* path, std::size_t slot) {
  const int file = ::open(path, O_RDWR | O_CLOEXEC);
  void* map = file < 0 ? MAP_FAILED
                       : ::mmap(nullptr, SLOT_COUNT * sizeof(Slot), PROT_READ | PROT_WRITE,
                                MAP_SHARED, file, 0);
  if (map == MAP_FAILED || slot >= SLOT_COUNT) {
    std::fprintf(stderr, "load_reader: no slots in %s\n", path);
    std::exit(2);
  }
  slots = static_cast<Slot*>(map);
  mine = slots + slot;
}

std::string quoted(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  return out;
}

}  // namespace

int main(int count, char** words) {
  if (count < 5) {
    std::fprintf(stderr, "usage: load_reader follow|tail|random SLOTS SLOT ...\n");
    return 2;
  }
  const std::string what = words[1];
  map_slots(words[2], std::strtoul(words[3], nullptr, 10));
  const bool hold = what == "follow" && count > 6;
  Lines lines(what == "tail" ? words[4] : count > 5 ? words[5] : "", what == "follow");
  Random random(words[4], count > 5 ? static_cast<unsigned>(std::atoi(words[5])) : 0);
  std::string error;
  try {
    if (what == "follow") follow(words[4], lines, hold);
    if (what == "tail") tail(lines);
    if (what == "random") random.run();
  } catch (const Wrong& found) {
    error = found.what;
  }
  std::printf("{%s, \"error\": \"%s\"}\n",
              what == "random" ? random.told().c_str() : lines.told(hold).c_str(),
              quoted(error).c_str());
  return error.empty() ? 0 : 1;
}
