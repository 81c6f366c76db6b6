#include <istream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <utility>

#include <tune/workload.hpp>

#include "core/number_text.hpp"
#include "report/csv_text.hpp"

namespace tune {
namespace {

constexpr std::string_view seconds_field = "time_this_iter_s";

/// The whole text as a number; empty if it is none.
std::optional<double> number_of(const std::string& text) {
  if (text == "True") return 1;
  if (text == "False") return 0;
  std::size_t end = 0;
  try {
    const double value = std::stod(text, &end);
    if (end == text.size()) return value;
  } catch (const std::exception&) {
    return std::nullopt;
  }
  return std::nullopt;
}

double required_number(const std::string& field, const std::string& text, std::size_t line) {
  const std::optional<double> value = number_of(text);
  if (value) return *value;
  throw std::invalid_argument("curve table, line " + std::to_string(line) + ": " + field + " is " +
                              core::value_text(text) + ", want a number");
}

CurveTable::Point point_of_row(const std::vector<std::string>& names,
                               const std::vector<std::string>& fields, std::size_t row,
                               std::size_t length) {
  CurveTable::Point point;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    if (fields[i].empty() || name == "trial_id") continue;
    if (name == seconds_field) {
      point.seconds = required_number(name, fields[i], row);
    } else if (name == "training_iteration") {
      const double iteration = required_number(name, fields[i], row);
      if (iteration != static_cast<double>(length + 1)) {
        throw std::invalid_argument("curve table, line " + std::to_string(row) +
                                    ": training_iteration is " + fields[i] + ", want " +
                                    std::to_string(length + 1));
      }
    } else if (!is_reserved_field(name) && name != "done") {
      const std::optional<double> value = number_of(fields[i]);
      point.metrics.set(name, value ? MetricValue(*value) : MetricValue(fields[i]));
    }
  }
  return point;
}

/// Files written by hand often end their lines in the system's way.
std::string with_csv_line_breaks(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n' && !out.ends_with('\r')) out += '\r';
    out += c;
  }
  return out;
}

class TableWorkload final : public Workload {
 public:
  explicit TableWorkload(CurveTable table) : table_(std::move(table)) {}

  SimulatedStep step(const SimulatedStart& start, std::int64_t iteration) override {
    const CurveTable::Curve& curve = table_[curve_of(start)];
    const auto index = static_cast<std::size_t>(iteration - 1);
    if (index >= curve.size()) return {.seconds = 0, .done = true};
    return {.metrics = curve[index].metrics,
            .seconds = curve[index].seconds,
            .done = index + 1 == curve.size()};
  }
  [[nodiscard]] std::string name() const override { return "curves"; }

 private:
  [[nodiscard]] std::size_t curve_of(const SimulatedStart& start) const {
    const std::string parameter(CurveTable::curve_parameter);
    if (!start.config.contains(parameter)) return start.trial.value() % table_.size();
    const auto index = start.config[parameter].get<std::size_t>();
    if (index < table_.size()) return index;
    throw InvalidConfig("curve is " + std::to_string(index) + ", and there are " +
                        std::to_string(table_.size()));
  }

  CurveTable table_;
};

}  // namespace

CurveTable CurveTable::from_csv(std::istream& in) {
  const std::string text = with_csv_line_breaks({std::istreambuf_iterator<char>(in), {}});
  CurveTable table;
  std::vector<std::string> names;
  std::map<std::string, std::size_t> curves;  // by trial
  std::size_t row = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = report::csv_record_end(text, begin);
    const auto fields = report::csv_fields(std::string_view(text).substr(begin, end - begin));
    begin = end;
    if (++row == 1) {
      names = fields;
      continue;
    }
    if (fields.size() != names.size()) {
      throw std::invalid_argument("curve table, line " + std::to_string(row) + ": " +
                                  std::to_string(fields.size()) + " fields, want " +
                                  std::to_string(names.size()));
    }
    std::string trial;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == "trial_id") trial = fields[i];
    }
    const auto [found, is_new] = curves.emplace(trial, table.curves_.size());
    if (is_new) table.curves_.emplace_back();
    Curve& curve = table.curves_[found->second];
    curve.push_back(point_of_row(names, fields, row, curve.size()));
  }
  return table;
}

CurveTable CurveTable::from_json(const Json& json) {
  CurveTable table;
  if (!json.is_array()) throw std::invalid_argument("curve table: want a list of curves");
  for (const Json& list : json) {
    const std::string where = "curve table, curve " + std::to_string(table.size());
    if (!list.is_array()) throw std::invalid_argument(where + ": want a list of points");
    Curve curve;
    for (const Json& given : list) {
      const std::string place = where + ", point " + std::to_string(curve.size());
      if (!given.is_object()) throw std::invalid_argument(place + ": want an object");
      Point point{.metrics = Metrics::from_json(given)};
      if (const MetricValue* seconds = point.metrics.find(seconds_field)) {
        if (!seconds->is_number()) {
          throw std::invalid_argument(place + ": time_this_iter_s is no number");
        }
        point.seconds = seconds->as_double();
        point.metrics.erase(seconds_field);
      }
      curve.push_back(std::move(point));
    }
    table.add(std::move(curve));
  }
  return table;
}

std::unique_ptr<Workload> curve_table(CurveTable table) {
  if (table.size() == 0) throw std::invalid_argument("curve_table: it has no curves");
  return std::make_unique<TableWorkload>(std::move(table));
}

}  // namespace tune
