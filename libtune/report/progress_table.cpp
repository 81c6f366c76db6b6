#include "progress_table.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "report/config_parameters.hpp"
#include "row_file.hpp"

namespace tune::report {
namespace {

constexpr std::size_t max_table_rows = 20;
constexpr std::size_t max_column_width = 16;
constexpr std::size_t column_gap = 2;
// With less it says nothing; and further metrics leave it at least so much.
constexpr std::size_t min_config_width = 12;
constexpr std::size_t good_config_width = 28;
constexpr std::size_t max_parameter_columns = 200;

struct TableColumn {
  std::string title;
  std::vector<std::string> cells;
  std::size_t width = 0;
};

class Table {
 public:
  Table(const Progress& progress, std::size_t row_count, const Screen& screen)
      : progress_(progress), row_count_(row_count), screen_(screen) {
    choose_columns();
  }

  [[nodiscard]] StyledLine title_line() const {
    StyledLine line;
    for (const TableColumn& column : columns_) add_cell(line, column.title, column.width);
    if (config_width_ > 0) line.add(std::string(line.empty() ? 0 : column_gap, ' ') + "config");
    return line;
  }
  [[nodiscard]] StyledLine row_line(std::size_t row) const;

 private:
  template <class Text>
  [[nodiscard]] TableColumn column(const std::string& title, Text text) const;
  [[nodiscard]] TableColumn metric_column(const std::string& name) const;
  void choose_columns();
  [[nodiscard]] bool take(TableColumn column, std::size_t keep);
  [[nodiscard]] std::vector<std::string> other_metrics() const;
  [[nodiscard]] std::string iteration_text(const TrialProgress& trial) const;
  static void add_cell(StyledLine& line, const std::string& text, std::size_t width,
                       Style style = Style::plain);

  const Progress& progress_;
  std::size_t row_count_;
  const Screen& screen_;
  std::vector<TableColumn> columns_;
  std::size_t used_ = 0;
  std::size_t config_width_ = 0;
};

template <class Text>
TableColumn Table::column(const std::string& title, Text text) const {
  const auto fit = [&](const std::string& cell) {
    return shorten(printable(cell, screen_.charset), max_column_width, screen_.charset);
  };
  TableColumn column;
  column.title = fit(title);
  column.width = display_width(column.title);
  for (std::size_t row = 0; row < row_count_; ++row) {
    column.cells.push_back(fit(text(progress_.rows[row])));
    column.width = std::max(column.width, display_width(column.cells.back()));
  }
  return column;
}

TableColumn Table::metric_column(const std::string& name) const {
  return column(name, [&](const TrialProgress& trial) {
    const MetricValue* const value = trial.metrics.find(name);
    return value != nullptr ? metric_text(*value) : std::string("-");
  });
}

std::string Table::iteration_text(const TrialProgress& trial) const {
  if (trial.training_iteration == 0) return "-";
  std::string text = std::to_string(trial.training_iteration);
  if (progress_.max_iterations) text += '/' + std::to_string(*progress_.max_iterations);
  return text;
}

// Takes the column if there is room for it and `keep` more beside it.
bool Table::take(TableColumn column, std::size_t keep) {
  const std::size_t width = column.width + (columns_.empty() ? 0 : column_gap);
  if (used_ + width + keep > screen_.columns) return false;
  used_ += width;
  columns_.push_back(std::move(column));
  return true;
}

std::vector<std::string> Table::other_metrics() const {
  std::vector<std::string> names;
  for (std::size_t row = 0; row < row_count_; ++row) {
    for (const auto& [name, value] : progress_.rows[row].metrics) {
      if (progress_.objective && name == progress_.objective->metric) continue;
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

void Table::choose_columns() {
  (void)take(column("trial", [](const TrialProgress& trial) { return trial_id_text(trial.id); }),
             0);
  (void)take(column("iter", [&](const TrialProgress& trial) { return iteration_text(trial); }), 0);
  const bool has_target =
      progress_.objective && take(metric_column(progress_.objective->metric), 0);
  const bool has_time =
      take(column("time",
                  [](const TrialProgress& trial) {
                    return trial.training_iteration == 0
                               ? std::string("-")
                               : duration_text(Progress::Seconds(trial.time_total_s));
                  }),
           0);
  if (has_target && has_time) std::swap(columns_[columns_.size() - 2], columns_.back());
  const bool has_config =
      std::any_of(progress_.rows.begin(), progress_.rows.end(),
                  [](const TrialProgress& trial) { return !trial.config.empty(); });
  for (const std::string& name : other_metrics()) {
    if (!take(metric_column(name), has_config ? column_gap + good_config_width : 0)) break;
  }
  if (has_config && used_ + column_gap + min_config_width <= screen_.columns) {
    config_width_ = screen_.columns - used_ - column_gap;
  }
}

// Numbers stand at the right of their column.
void Table::add_cell(StyledLine& line, const std::string& text, std::size_t width, Style style) {
  const std::size_t blanks = width - std::min(width, display_width(text));
  line.add(std::string(blanks + (line.empty() ? 0 : column_gap), ' '));
  line.add(text, style);
}

StyledLine Table::row_line(std::size_t row) const {
  const TrialProgress& trial = progress_.rows[row];
  const bool is_best = progress_.best && progress_.best->id == trial.id;
  StyledLine line;
  for (const TableColumn& column : columns_) {
    add_cell(line, column.cells[row], column.width, is_best ? Style::strong : Style::plain);
  }
  if (config_width_ == 0) return line;
  std::string config;
  for (const std::string& text : parameter_texts(trial.config, screen_.charset)) {
    config += (config.empty() ? "" : " ") + text;
  }
  line.add(std::string(column_gap, ' '));
  return line.add(shorten(config, config_width_, screen_.charset), Style::faint);
}

}  // namespace

std::vector<std::string> parameter_texts(const Config& config, Charset charset) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : flat_parameters(config.json())) {
    const std::string text = printable(name + '=' + parameter_text(*value), charset);
    texts.push_back(shorten(text, max_parameter_columns, charset));
  }
  return texts;
}

std::size_t table_lines(const Progress& progress) {
  if (progress.rows.empty()) return 0;
  const std::size_t rows = std::min(progress.rows.size(), max_table_rows);
  const bool has_more = static_cast<std::size_t>(progress.counts.running) > rows;
  return 1 + rows + (has_more ? 1 : 0);
}

std::vector<StyledLine> render_table(const Progress& progress, std::size_t lines,
                                     const Screen& screen) {
  lines = std::min(lines, table_lines(progress));
  if (lines < 2) return {};
  const auto running = static_cast<std::size_t>(progress.counts.running);
  std::size_t rows = std::min(lines - 1, progress.rows.size());
  if (rows < running && lines > 2) rows = lines - 2;  // the last line says how many more
  const Table table(progress, rows, screen);
  std::vector<StyledLine> out = {table.title_line()};
  for (std::size_t row = 0; row < rows; ++row) out.push_back(table.row_line(row));
  if (out.size() < lines && rows < running) {
    out.emplace_back(std::string(ellipsis(screen.charset)) + " " + std::to_string(running - rows) +
                         " more running",
                     Style::faint);
  }
  return out;
}

}  // namespace tune::report
