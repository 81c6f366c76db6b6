#include <algorithm>
#include <array>
#include <ostream>
#include <string>
#include <utility>

#include <tune/what_if.hpp>

#include "core/number_text.hpp"
#include "report/csv_text.hpp"

namespace tune {
namespace {

constexpr std::size_t most_listed_trials = 8;

std::string short_number(double value) { return core::number_text(value, 4); }

std::string plural(std::int64_t count, const char* word) {
  return std::to_string(count) + ' ' + word + (count == 1 ? "" : "s");
}

using Cells = std::vector<std::string>;

Cells cells_of(const WhatIfRow& row, bool is_record) {
  std::string trial = row.best_trial ? std::to_string(row.best_trial->value()) : "none";
  if (!is_record && row.is_same_best) trial += " (same)";
  std::string value = row.best ? short_number(*row.best) : "none";
  if (row.is_best_extrapolated) value += '*';
  std::string extrapolated = "none";
  if (!row.extrapolated.empty()) {
    extrapolated = plural(static_cast<std::int64_t>(row.extrapolated.size()), "trial") + ", " +
                   plural(row.extrapolated_steps(), "step");
  }
  return {row.name,
          std::move(value),
          std::move(trial),
          short_number(row.compute_s) + " s",
          short_number(100 * row.compute_share) + " %",
          short_number(row.wall_s) + " s",
          std::to_string(row.stopped_early) + " of " + std::to_string(row.trials),
          std::to_string(row.failed),
          is_record ? "" : std::move(extrapolated)};
}

/// Numbers to the right, but for the first and the last column.
void print_cells(std::ostream& out, const std::vector<Cells>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const Cells& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string gap(widths[i] - row[i].size(), ' ');
      if (i > 0) line += "  ";
      line += i == 0 || i + 1 == row.size() ? row[i] + gap : gap + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
}

void print_extrapolated(std::ostream& out, const WhatIfRow& row) {
  if (row.extrapolated.empty()) return;
  out << row.name << ": extrapolated";
  const char* before = " ";
  for (std::size_t i = 0; i < std::min(row.extrapolated.size(), most_listed_trials); ++i) {
    const ExtrapolatedTrial& trial = row.extrapolated[i];
    out << std::exchange(before, ", ") << "trial " << trial.trial.value() << " from "
        << trial.recorded << " to " << trial.reached;
  }
  if (row.extrapolated.size() > most_listed_trials) {
    out << " and "
        << plural(static_cast<std::int64_t>(row.extrapolated.size() - most_listed_trials),
                  "more trial");
  }
  out << '\n';
}

Json row_json(const WhatIfRow& row) {
  Json extrapolated = Json::array();
  for (const ExtrapolatedTrial& trial : row.extrapolated) {
    extrapolated.push_back(
        {{"trial", trial.trial.value()}, {"recorded", trial.recorded}, {"reached", trial.reached}});
  }
  return {{"name", row.name},
          {"scheduler", Json::parse(row.scheduler)},
          {"best", row.best ? Json(*row.best) : Json()},
          {"best_trial", row.best_trial ? Json(row.best_trial->value()) : Json()},
          {"is_same_best", row.is_same_best},
          {"is_best_extrapolated", row.is_best_extrapolated},
          {"compute_s", row.compute_s},
          {"compute_share", row.compute_share},
          {"wall_s", row.wall_s},
          {"trials", row.trials},
          {"stopped_early", row.stopped_early},
          {"failed", row.failed},
          {"extrapolated", std::move(extrapolated)}};
}

void write_csv_row(std::ostream& out, const WhatIfRow& row) {
  std::string line;
  report::append_csv_text(line, row.name);
  const auto add = [&](const Json& value) {
    line += ',';
    report::append_csv_value(line, value);
  };
  add(row.best ? Json(*row.best) : Json());
  add(row.best_trial ? Json(row.best_trial->value()) : Json());
  for (const Json& value :
       {Json(row.is_same_best), Json(row.is_best_extrapolated), Json(row.compute_s),
        Json(row.compute_share), Json(row.wall_s), Json(row.trials), Json(row.stopped_early),
        Json(row.failed), Json(row.extrapolated.size()), Json(row.extrapolated_steps())}) {
    add(value);
  }
  out << line << "\r\n";
}

}  // namespace

std::string_view to_string(Extrapolation extrapolation) {
  return extrapolation == Extrapolation::last_value ? "last_value" : "power_law";
}

std::int64_t WhatIfRow::extrapolated_steps() const {
  std::int64_t steps = 0;
  for (const ExtrapolatedTrial& trial : extrapolated) steps += trial.reached - trial.recorded;
  return steps;
}

void WhatIf::print(std::ostream& out) const {
  std::vector<Cells> rows = {{"", "best " + metric, "trial", "compute", "share", "wall time",
                              "stopped early", "failed", "extrapolated"}};
  rows.push_back(cells_of(recorded, true));
  for (const WhatIfRow& row : alternatives) rows.push_back(cells_of(row, false));
  print_cells(out, rows);
  for (const WhatIfRow& row : alternatives) print_extrapolated(out, row);
  if (std::any_of(alternatives.begin(), alternatives.end(),
                  [](const WhatIfRow& row) { return row.is_best_extrapolated; })) {
    out << "* a value that was never seen\n";
  }
  for (const std::string& note : notes) out << note << '\n';
}

void WhatIf::write_csv(std::ostream& out) const {
  out << "name,best,best_trial,is_same_best,is_best_extrapolated,compute_s,compute_share,wall_s,"
         "trials,stopped_early,failed,extrapolated_trials,extrapolated_steps\r\n";
  write_csv_row(out, recorded);
  for (const WhatIfRow& row : alternatives) write_csv_row(out, row);
}

Json WhatIf::json() const {
  Json rows = Json::array();
  for (const WhatIfRow& row : alternatives) rows.push_back(row_json(row));
  return {{"metric", metric},
          {"mode", to_string(mode)},
          {"recorded", row_json(recorded)},
          {"alternatives", std::move(rows)},
          {"notes", notes}};
}

}  // namespace tune
