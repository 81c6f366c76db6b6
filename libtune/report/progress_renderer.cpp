#include "report/progress_renderer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "progress_table.hpp"
#include "row_file.hpp"
#include "styled_line.hpp"

namespace tune::report {
namespace {

constexpr std::size_t min_bar = 8;
constexpr std::size_t max_bar = 40;

std::string percent_text(double fraction) {
  // 100 % is said when it is so.
  return std::to_string(static_cast<int>(std::floor(fraction * 100))) + " %";
}

std::string trials_text(const Progress& progress) {
  const std::int64_t trials =
      progress.expected_trials ? progress.counts.ended() : progress.counts.total();
  std::string text = std::to_string(trials);
  if (progress.expected_trials) text += '/' + std::to_string(*progress.expected_trials);
  return text + " trials";
}

// In whole seconds: it is a guess.
std::string remaining_text(Progress::Seconds remaining) {
  if (remaining < Progress::Seconds(10)) {
    return "about " + std::to_string(static_cast<int>(std::ceil(remaining.count()))) + " s left";
  }
  return "about " + duration_text(remaining) + " left";
}

StyledLine bar(double fraction, std::size_t columns, Charset charset) {
  const bool is_unicode = charset == Charset::unicode;
  const std::size_t frame = is_unicode ? 0 : 2;
  const std::size_t cells = columns - frame;
  const auto full = static_cast<std::size_t>(std::floor(fraction * static_cast<double>(cells)));
  std::string done;
  std::string open;
  for (std::size_t i = 0; i < cells; ++i) {
    if (i < full) {
      done += is_unicode ? "█" : "#";
    } else {
      open += is_unicode ? "░" : "-";
    }
  }
  StyledLine line;
  if (!is_unicode) line.add("[");
  line.add(done, Style::good).add(open, Style::faint);
  if (!is_unicode) line.add("]");
  return line;
}

// The bar takes what the rest leaves; in a narrow window what tells least gives way.
StyledLine head_line(const Progress& progress, const Screen& screen) {
  std::vector<std::string> texts = {trials_text(progress)};
  if (progress.fraction) texts.push_back(percent_text(*progress.fraction));
  texts.push_back(duration_text(progress.elapsed));
  if (progress.remaining) texts.push_back(remaining_text(*progress.remaining));
  const auto width = [&] {
    std::size_t sum = 0;
    for (const std::string& text : texts) sum += text.size() + 2;
    return sum - 2;
  };
  if (progress.remaining && width() > screen.columns) texts.pop_back();
  if (width() > screen.columns) texts[0].resize(texts[0].find(' '));  // without " trials"
  StyledLine line;
  const std::size_t used = width() + 2;
  if (progress.fraction && used + min_bar <= screen.columns) {
    line.add(bar(*progress.fraction, std::min(screen.columns - used, max_bar), screen.charset));
  }
  for (const std::string& text : texts) line.add((line.empty() ? "" : "  ") + text);
  return line;
}

std::vector<StyledLine> count_pieces(const TrialCounts& counts) {
  std::vector<StyledLine> pieces;
  const auto add = [&](std::int64_t count, const char* state, Style style) {
    if (count > 0) pieces.emplace_back(std::to_string(count) + ' ' + state, style);
  };
  add(counts.running, "running", Style::strong);
  add(counts.paused, "paused", Style::plain);
  add(counts.pending, "pending", Style::plain);
  add(counts.terminated, "terminated", Style::good);
  add(counts.error, "error", Style::bad);
  return pieces;
}

// "cpu 2/4", "memory 1.5/16 GiB".
std::vector<StyledLine> resource_pieces(const ResourceAmounts& resources,
                                        const ResourceAmounts& resources_in_use, Charset charset) {
  std::vector<StyledLine> pieces;
  for (const auto& [name, total] : resources.amounts()) {
    const auto in_use = static_cast<double>(resources_in_use.amount(name));
    const bool is_memory = name == "memory";
    if (is_memory && in_use == 0) continue;  // nobody asks for any
    const double unit = is_memory ? 1024.0 * 1024 * 1024 : 1000;
    pieces.emplace_back(printable(name, charset) + ' ' + short_number(in_use / unit) + '/' +
                        short_number(static_cast<double>(total) / unit) +
                        (is_memory ? " GiB" : ""));
  }
  return pieces;
}

std::string best_value_text(const Progress& progress, Charset charset) {
  return printable(progress.objective->metric, charset) + ' ' +
         column_number(*progress.best->value);
}

std::vector<StyledLine> best_pieces(const Progress& progress, Charset charset) {
  StyledLine value("best ");
  value.add(best_value_text(progress, charset), Style::strong);
  return {value, StyledLine("trial " + trial_id_text(progress.best->id)),
          StyledLine("iteration " + std::to_string(progress.best->training_iteration))};
}

std::vector<StyledLine> config_pieces(const Config& config, const Screen& screen,
                                      std::size_t indent) {
  std::vector<StyledLine> pieces;
  const std::size_t room = std::max<std::size_t>(screen.columns, indent + 4) - indent;
  for (const std::string& text : parameter_texts(config, screen.charset)) {
    pieces.emplace_back(shorten(text, room, screen.charset), Style::faint);
  }
  if (!pieces.empty()) pieces[0] = StyledLine(std::string(indent, ' ')).add(pieces[0]);
  return pieces;
}

StyledLine failure_line(const Progress& progress, const Screen& screen) {
  const TrialFailure& last = progress.failures.back();
  StyledLine line("error ", Style::bad);
  return line.add("trial " + trial_id_text(last.id) + ": ")
      .add(printable(last.error, screen.charset));
}

/// Some lines of the display, of which the first few are shown.
struct Section {
  std::vector<StyledLine> lines;
  std::size_t shown = 0;
};

/// Gives the screen's rows to sections in the order of their weight.
class Rows {
 public:
  explicit Rows(std::size_t left) : left_(left) {}
  [[nodiscard]] std::size_t left() const { return left_; }
  std::size_t take(std::size_t wanted) {
    const std::size_t taken = std::min(wanted, left_);
    left_ -= taken;
    return taken;
  }
  void give(Section& section, std::size_t most) {
    section.shown += take(std::min(most, section.lines.size() - section.shown));
  }

 private:
  std::size_t left_;
};

Section status_section(const Progress& progress, const Screen& screen) {
  std::vector<StyledLine> pieces = count_pieces(progress.counts);
  for (StyledLine& piece :
       resource_pieces(progress.resources, progress.resources_in_use, screen.charset)) {
    pieces.push_back(std::move(piece));
  }
  Section section{flow(pieces, screen.columns, 0, 3)};
  if (!progress.waiting.empty()) {
    section.lines.insert(section.lines.begin(),
                         StyledLine("waiting: " + printable(progress.waiting, screen.charset)));
  }
  return section;
}

/// Empty if the driver's machine is all there is: the status says it then.
Section node_section(const Progress& progress, const Screen& screen) {
  Section section;
  const bool has_remote = std::any_of(progress.nodes.begin(), progress.nodes.end(),
                                      [](const NodeProgress& node) { return !node.is_local; });
  if (!has_remote) return section;
  for (const NodeProgress& node : progress.nodes) {
    std::vector<StyledLine> pieces = {StyledLine("node " + std::to_string(node.id.value()) + ' ' +
                                                 printable(node.name, screen.charset))};
    for (StyledLine& piece :
         resource_pieces(node.resources, node.resources_in_use, screen.charset)) {
      pieces.push_back(std::move(piece));
    }
    section.lines.push_back(flow(pieces, screen.columns, 5, 3).front());
  }
  return section;
}

Section best_section(const Progress& progress, const Screen& screen) {
  if (!progress.objective) return {};
  if (!progress.best) {
    return {{StyledLine("no " + printable(progress.objective->metric, screen.charset) + " yet")}};
  }
  Section section{flow(best_pieces(progress, screen.charset), screen.columns, 5, 2)};
  const auto config = flow(config_pieces(progress.best->config, screen, 5), screen.columns, 5, 2);
  section.lines.insert(section.lines.end(), config.begin(), config.end());
  return section;
}

}  // namespace

std::vector<std::string> render_progress(const Progress& progress, const Screen& screen) {
  Section head{{head_line(progress, screen)}};
  Section status = status_section(progress, screen);
  Section best = best_section(progress, screen);
  Section nodes = node_section(progress, screen);
  Section scheduler;
  if (!progress.scheduler.empty()) {
    scheduler.lines.emplace_back(printable(progress.scheduler, screen.charset), Style::faint);
  }
  Section failure;
  if (!progress.failures.empty()) {
    failure.lines.push_back(failure_line(progress, screen));
    failure.lines.emplace_back(
        shorten_front("      " + printable(progress.failures.back().path.native(), screen.charset),
                      screen.columns, screen.charset));
  }

  Rows rows(screen.rows);
  rows.give(head, 1);
  rows.give(status, 1);
  rows.give(best, 1);
  rows.give(failure, 1);
  const std::size_t wanted = table_lines(progress);
  std::size_t table = rows.left() >= 2 ? rows.take(std::min<std::size_t>(wanted, 2)) : 0;
  for (Section* const section : {&status, &best, &failure, &scheduler}) rows.give(*section, 4);
  rows.give(nodes, 8);
  if (table > 0) table += rows.take(wanted - table);

  std::vector<std::string> out;
  const auto show = [&](const std::vector<StyledLine>& lines, std::size_t shown) {
    for (std::size_t i = 0; i < shown; ++i) out.push_back(lines[i].text(screen));
  };
  if (nodes.shown < nodes.lines.size() && nodes.shown > 0) {
    const std::size_t left = nodes.lines.size() - --nodes.shown;
    nodes.lines[nodes.shown++] =
        StyledLine("     and " + std::to_string(left) + " more nodes", Style::faint);
  }
  for (const Section* const section : {&head, &status, &nodes, &best, &scheduler}) {
    show(section->lines, section->shown);
  }
  const std::vector<StyledLine> table_rows = render_table(progress, table, screen);
  show(table_rows, table_rows.size());
  show(failure.lines, failure.shown);
  return out;
}

std::string render_line(const Progress& progress, Charset charset) {
  std::vector<StyledLine> pieces = {StyledLine(trials_text(progress))};
  if (progress.fraction) pieces.emplace_back(percent_text(*progress.fraction));
  std::string time = duration_text(progress.elapsed);
  if (progress.remaining) time += ", " + remaining_text(*progress.remaining);
  pieces.emplace_back(time);
  for (StyledLine& piece : count_pieces(progress.counts)) pieces.push_back(std::move(piece));
  for (StyledLine& piece :
       resource_pieces(progress.resources, progress.resources_in_use, charset)) {
    pieces.push_back(std::move(piece));
  }
  if (progress.best) {
    pieces.emplace_back("best " + best_value_text(progress, charset) + " (trial " +
                        trial_id_text(progress.best->id) + ")");
  }
  if (!progress.waiting.empty()) {
    pieces.emplace_back("waiting: " + printable(progress.waiting, charset));
  }
  StyledLine line("tune: ");
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i > 0) line.add("  ");
    line.add(pieces[i]);
  }
  return line.text(Colors::off);
}

std::string render_start(const Progress& progress, Charset charset) {
  std::string text = "tune: " + progress.name;
  if (progress.expected_trials)
    text += ", " + std::to_string(*progress.expected_trials) + " trials";
  return printable(text + ", results in " + progress.path.native(), charset);
}

}  // namespace tune::report
