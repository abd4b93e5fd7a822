#include "fs/timeline_svg.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "fs/render_retention.h"
#include "fs/time_expression.h"
#include "storage/segment_files.h"

namespace offsetfs::fs {
namespace {

using storage::TimestampMs;

// Three columns that never meet: names, bars, verdicts.
constexpr int kWidth = 1280;
constexpr int kNamesLeft = 20;
constexpr int kChartLeft = 330;
constexpr int kChartRight = 800;
constexpr int kVerdictLeft = 820;
constexpr int kHeadHeight = 116;
constexpr int kRowHeight = 24;
constexpr int kFootHeight = 40;
constexpr std::size_t kVerdictCharacters = 66;

constexpr std::size_t kOldestRows = 60;
constexpr std::size_t kNewestRows = 20;

constexpr const char* kStyle = R"(<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2328; }
  .mono { font: 12px ui-monospace, monospace; }
  .title { font-size: 17px; font-weight: 600; }
  .quiet { fill: #59636e; }
  .ground { fill: #ffffff; }
  .stripe { fill: #f3f5f7; }
  .axis { stroke: #d1d9e0; }
  .now { stroke: #1f2328; stroke-width: 1.5; }
  .edge { stroke: #bc4c00; stroke-width: 1.5; stroke-dasharray: 5 3; }
  .edge-text { fill: #bc4c00; }
  .active { fill: #0969da; } .kept { fill: #1a7f37; }
  .expired { fill: #cf222e; } .deleting { fill: #8c959f; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .quiet { fill: #9198a1; }
    .ground { fill: #0d1117; } .stripe { fill: #161b22; }
    .axis { stroke: #3d444d; } .now { stroke: #e6edf3; }
    .edge { stroke: #db6d28; } .edge-text { fill: #db6d28; }
    .active { fill: #4493f8; } .kept { fill: #3fb950; }
    .expired { fill: #f85149; } .deleting { fill: #656c76; }
  }
</style>
)";

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
  return out;
}

std::string shortened(const std::string& text, std::size_t characters) {
  return text.size() <= characters ? text : text.substr(0, characters - 3) + "...";
}

std::string size_text(std::int64_t bytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text.data();
}

// "2026-10-29 04:23:56" of what print_time says; plain digits stay.
std::string minute_text(TimestampMs time) {
  if (time == storage::kNever) return "never";
  auto text = print_time(time);
  if (const auto t = text.find('T'); t != std::string::npos) {
    text[t] = ' ';
    text.resize(std::min(text.size(), t + 9));
  }
  return text;
}

// From time to the chart's x. Only times near the clock stretch it: one record dated 2150 must not
// squeeze all others into a line. What lies outside is drawn at the border, with an arrow.
class Axis {
 public:
  Axis(const RetentionReport& report, const std::vector<const RetentionRow*>& rows)
      : low_(report.now.value), high_(report.now.value) {
    constexpr std::int64_t kYearMs = 366LL * 86'400'000;
    const auto take = [&](TimestampMs time) {
      if (time.value < 0 || time.value < report.now.value - 20 * kYearMs ||
          time.value > report.now.value + kYearMs)
        return;
      low_ = std::min(low_, time.value);
      high_ = std::max(high_, time.value);
    };
    for (const auto* row : rows) {
      take(row->first_timestamp);
      take(row->segment.largest_timestamp);
    }
    if (low_ == high_) low_ -= 60'000;
    const auto margin = std::max<std::int64_t>((high_ - low_) / 20, 1);
    low_ -= margin;
    high_ += margin;
  }

  bool holds(TimestampMs time) const { return time.value >= low_ && time.value <= high_; }
  TimestampMs low() const { return {low_}; }
  TimestampMs high() const { return {high_}; }
  double x(TimestampMs time) const {
    const auto clamped = std::clamp(time.value, low_, high_);
    return kChartLeft + static_cast<double>(clamped - low_) / static_cast<double>(high_ - low_) *
                            (kChartRight - kChartLeft);
  }

 private:
  std::int64_t low_, high_;
};

class Drawing {
 public:
  explicit Drawing(const RetentionReport& report) : report_(report) {
    for (const auto& row : report.deleting) all_.push_back(&row);
    for (const auto& row : report.segments) all_.push_back(&row);
  }

  std::string draw() {
    const bool all_fit = all_.size() <= kOldestRows + kNewestRows + 1;
    const std::size_t oldest = all_fit ? all_.size() : kOldestRows;
    const std::size_t newest = all_fit ? 0 : kNewestRows;
    const auto lines = static_cast<int>(oldest + newest) + (all_fit ? 0 : 1);
    height_ = kHeadHeight + lines * kRowHeight + kFootHeight;
    const Axis axis(report_, all_);

    out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + std::to_string(kWidth) +
           ' ' + std::to_string(height_) + "\" width=\"" + std::to_string(kWidth) + "\" height=\"" +
           std::to_string(height_) + "\">\n";
    out_ += kStyle;
    out_ += "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n";
    head();
    int line = 0;
    for (std::size_t i = 0; i < oldest; ++i) row(*all_[i], line++, axis);
    if (!all_fit) gap(oldest, all_.size() - newest, line++);
    for (std::size_t i = all_.size() - newest; i < all_.size(); ++i) row(*all_[i], line++, axis);
    marks(axis);
    out_ += "</svg>\n";
    return std::move(out_);
  }

 private:
  void text(double x, double y, const char* style, std::string_view content,
            const char* anchor = "start") {
    std::array<char, 128> head{};
    std::snprintf(head.data(), head.size(),
                  "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">", x, y, style,
                  anchor);
    out_ += head.data() + escape(content) + "</text>\n";
  }
  void rect(double x, double y, double width, double height, const char* style) {
    std::array<char, 160> shape{};
    std::snprintf(
        shape.data(), shape.size(),
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"2\" class=\"%s\"/>\n", x,
        y, width, height, style);
    out_ += shape.data();
  }
  void line(double x, double from, double to, const char* style) {
    std::array<char, 160> shape{};
    std::snprintf(shape.data(), shape.size(),
                  "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", x, x,
                  from, to, style);
    out_ += shape.data();
  }

  void head() {
    const auto& log = report_.config.log;
    text(kNamesLeft, 30, "title", shortened(report_.topic_partition.to_string(), 70));
    const auto limit = [](std::int64_t value, const char* name, const char* unit) {
      return std::string(name) + (value < 0 ? " off" : " " + std::to_string(value) + unit);
    };
    text(kNamesLeft, 52, "quiet",
         limit(log.retention_ms, "retention.ms", "") + ", " +
             limit(log.retention_bytes, "retention.bytes", "") + "; " +
             std::to_string(report_.segments.size()) + " segments, " +
             size_text(report_.size_bytes()) + ", offsets " +
             std::to_string(report_.log_start_offset.value) + " to " +
             std::to_string(report_.log_end_offset.value) + "; seen " + minute_text(report_.now) +
             " UTC" + (report_.knows_cluster ? "" : "; topic overrides not known"));
    constexpr std::array<std::array<const char*, 2>, 4> kLegend{
        {{"active", "active"},
         {"kept", "kept"},
         {"expired", "expired: the next check takes it"},
         {"deleting", "deleting: renamed .deleted"}}};
    constexpr std::array kLegendX{20, 100, 170, 425};
    for (std::size_t i = 0; i < kLegend.size(); ++i) {
      rect(kLegendX[i], 65, 12, 12, kLegend[i][0]);
      text(kLegendX[i] + 18, 76, "quiet", kLegend[i][1]);
    }
    text(kNamesLeft, kHeadHeight - 8, "quiet", "base offset");
    text(kChartLeft - 16, kHeadHeight - 8, "quiet", "size", "end");
    text(kVerdictLeft, kHeadHeight - 8, "quiet", "when it goes, and why");
  }

  void stripe(int number) {
    if (number % 2 == 0)
      rect(10, kHeadHeight + number * kRowHeight, kWidth - 20, kRowHeight, "stripe");
  }

  void row(const RetentionRow& row, int number, const Axis& axis) {
    stripe(number);
    const double top = kHeadHeight + number * kRowHeight;
    const double base = top + kRowHeight - 7;
    text(kNamesLeft, base, "mono", storage::segment_base_name(row.segment.base_offset));
    text(kChartLeft - 16, base, "mono quiet", size_text(row.segment.size_bytes), "end");
    bar(row, top, axis);
    text(kVerdictLeft, base, "mono", shortened(verdict_text(row), kVerdictCharacters));
  }

  void bar(const RetentionRow& row, double top, const Axis& axis) {
    const auto largest = row.segment.largest_timestamp;
    const auto first = row.first_timestamp == storage::kNoTimestamp ? largest : row.first_timestamp;
    if (largest == storage::kNoTimestamp) return;
    const auto from = axis.x(std::min(first, largest));
    const auto to = axis.x(std::max(first, largest));
    const auto width = std::max(to - from, 3.0);
    rect(std::min(from, kChartRight - width), top + 5, width, kRowHeight - 10,
         retention_state_name(row.state));
    if (largest > axis.high()) text(kChartRight - 4, top + kRowHeight - 7, "mono", "\u25b6", "end");
    if (std::min(first, largest) < axis.low())
      text(kChartLeft + 4, top + kRowHeight - 7, "mono", "\u25c0");
  }

  std::string verdict_text(const RetentionRow& row) const {
    const auto& verdict = row.verdict;
    const auto gone = "gone by " + minute_text(verdict.latest_gone);
    if (row.state == RetentionRow::State::kDeleting) return gone + ": file.delete.delay.ms";
    if (verdict.due == storage::kNever) return std::string("no date: ") + hold_name(verdict.hold);
    if (verdict.hold == storage::Hold::kNothing)
      return gone + ": " + retention_rule_name(verdict.rule) + ", at the next check";
    return gone + ": " + retention_rule_name(verdict.rule) + ", " + hold_name(verdict.hold);
  }

  void gap(std::size_t from, std::size_t to, int number) {
    stripe(number);
    std::int64_t bytes = 0;
    for (std::size_t i = from; i < to; ++i) bytes += all_[i]->segment.size_bytes;
    text(kNamesLeft, kHeadHeight + (number + 1) * kRowHeight - 7, "quiet",
         std::to_string(to - from) + " more segments, " + size_text(bytes));
  }

  // The clock, the edge of retention.ms, and the ends of the axis: under the rows, in line.
  void marks(const Axis& axis) {
    const double bottom = height_ - kFootHeight + 4;
    const double caption = height_ - 14;
    line(kChartLeft, kHeadHeight, bottom, "axis");
    line(kChartRight, kHeadHeight, bottom, "axis");
    text(kChartLeft, caption, "mono quiet", minute_text(axis.low()));
    text(kChartRight, caption, "mono quiet", minute_text(axis.high()), "end");
    const auto now_x = axis.x(report_.now);
    line(now_x, kHeadHeight - 4, bottom, "now");
    const auto retention_ms = report_.config.log.retention_ms;
    const auto edge = storage::add_saturated(report_.now, -std::max<std::int64_t>(retention_ms, 0));
    const bool has_edge = retention_ms >= 0 && axis.holds(edge);
    // The two lines may be close: then "now" stands right of its own.
    const bool close = has_edge && now_x - axis.x(edge) < 30;
    text(close ? now_x + 4 : now_x, kHeadHeight - 8, "", "now", close ? "start" : "middle");
    if (!has_edge) return;
    const auto edge_x = axis.x(edge);
    line(edge_x, kHeadHeight - 20, bottom, "edge");
    // Its caption is a line above, so that the two can't meet.
    text(edge_x, kHeadHeight - 24, "edge-text", "retention.ms ago",
         edge_x < kChartLeft + 60    ? "start"
         : edge_x > kChartRight - 60 ? "end"
                                     : "middle");
  }

  const RetentionReport& report_;
  std::vector<const RetentionRow*> all_;
  int height_ = 0;
  std::string out_;
};

}  // namespace

std::string render_timeline_svg(const RetentionReport& report) { return Drawing(report).draw(); }

}  // namespace offsetfs::fs
