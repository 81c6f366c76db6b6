#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <variant>

#include "core/json_text.hpp"
#include "fsck_exports.hpp"

namespace tune::runtime {
namespace {

// What a row has beside metrics. Of these, `done` and `time_total_s` are compared.
const std::set<std::string_view> automatic_fields = {"timestamp",
                                                     "checkpoint_dir_name",
                                                     "done",
                                                     "training_iteration",
                                                     "trial_id",
                                                     "date",
                                                     "time_this_iter_s",
                                                     "time_total_s",
                                                     "pid",
                                                     "hostname",
                                                     "node_ip",
                                                     "config",
                                                     "time_since_restore",
                                                     "iterations_since_restore",
                                                     "experiment_tag",
                                                     "experiment_id",
                                                     "nonfinite"};

std::optional<std::string> content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string exported_number(double value) {
  if (!std::isfinite(value)) return std::string(core::non_finite_text(value));
  std::string text;
  core::append_json_number(text, value);
  return text;
}

/// A metric as CSV has it.
struct CellText {
  std::string operator()(bool value) const { return value ? "True" : "False"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return exported_number(value); }
  std::string operator()(const std::string& value) const {
    std::string scratch;
    return std::string(core::as_utf8(value, scratch));
  }
};

/// A metric as text of JSON, with what is not finite behind a mark of its own.
struct MemberText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return exported_number(value); }
  std::string operator()(const std::string& value) const {
    std::string text;
    core::append_json_text(text, value);
    return text;
  }
};

std::string member_text(const Json& value) {
  if (value.is_number_float()) return exported_number(value.get<double>());
  if (value.is_string()) return MemberText()(value.get<std::string>());
  return value.dump();
}

bool is_compared(const std::string& name) {
  return name == "done" || name == "time_total_s" || !automatic_fields.contains(name);
}

/// @throws Json::exception
ExportRow row_of_object(const Json& object) {
  ExportRow row;
  row.training_iteration = object.at("training_iteration").get<std::int64_t>();
  for (const auto& [name, value] : object.items()) {
    if (is_compared(name)) row.values[name] = member_text(value);
  }
  const auto special = object.find("nonfinite");
  if (special == object.end()) return row;
  for (const auto& [name, value] : special->items()) {
    const auto found = row.values.find(name);
    if (found != row.values.end()) found->second = value.get<std::string>();
  }
  return row;
}

// --- RFC 4180

/// Takes one record after the other out of a text.
class CsvRecords {
 public:
  explicit CsvRecords(std::string_view text) : text_(text) {}

  /// The fields of the next record; empty at the end, and if what is left is no whole record.
  std::optional<std::vector<std::string>> next() {
    std::vector<std::string> fields(1);
    bool is_quoted = false;
    for (std::size_t i = 0; i < text_.size(); ++i) {
      const char c = text_[i];
      const bool is_followed = i + 1 < text_.size();
      if (is_quoted && c == '"' && is_followed && text_[i + 1] == '"') {
        fields.back() += text_[i++];
      } else if (c == '"') {
        is_quoted = !is_quoted;
      } else if (!is_quoted && c == ',') {
        fields.emplace_back();
      } else if (!is_quoted && c == '\r' && is_followed && text_[i + 1] == '\n') {
        text_.remove_prefix(i + 2);
        return fields;
      } else {
        fields.back() += c;
      }
    }
    return std::nullopt;
  }
  [[nodiscard]] bool has_more() const { return !text_.empty(); }

 private:
  std::string_view text_;
};

std::string row_of_cells(const std::vector<std::string>& names,
                         const std::vector<std::string>& cells, ExportRow& row) {
  if (cells.size() != names.size()) {
    return std::to_string(cells.size()) + " cells, want " + std::to_string(names.size());
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& cell = cells[i];
    if (names[i] == "training_iteration") {
      const auto [end, error] =
          std::from_chars(cell.data(), cell.data() + cell.size(), row.training_iteration);
      if (error != std::errc{} || end != cell.data() + cell.size()) {
        return "training_iteration is \"" + cell + "\"";
      }
    } else if (!cell.empty() && is_compared(names[i]) && !names[i].starts_with("config/")) {
      row.values[names[i]] = cell;
    }
  }
  return {};
}

}  // namespace

ExportRow json_export_row(const Result& result) {
  ExportRow row{result.training_iteration, {}};
  for (const auto& [name, value] : result.metrics) {
    std::string scratch;
    row.values[std::string(core::as_utf8(name, scratch))] =
        std::visit(MemberText(), value.variant());
  }
  row.values["done"] = MemberText()(result.done);
  row.values["time_total_s"] = exported_number(result.time_total_s);
  return row;
}

ExportRow csv_export_row(const Result& result) {
  ExportRow row{result.training_iteration, {}};
  for (const auto& [name, value] : result.metrics) {
    std::string scratch;
    std::string cell = std::visit(CellText(), value.variant());
    if (!cell.empty()) row.values[std::string(core::as_utf8(name, scratch))] = std::move(cell);
  }
  row.values["done"] = CellText()(result.done);
  row.values["time_total_s"] = exported_number(result.time_total_s);
  return row;
}

ExportedRows read_exported_json(const std::filesystem::path& trial) {
  ExportedRows read;
  const auto content = content_of(trial / "result.json");
  read.is_there = content.has_value();
  if (!content) return read;
  read.files = 1;
  std::string_view text = *content;
  for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos;) {
    try {
      read.rows.push_back(row_of_object(Json::parse(text.substr(0, end))));
    } catch (const Json::exception& error) {
      read.damage = "line " + std::to_string(read.rows.size() + 1) + ": " + error.what();
      return read;
    }
    text.remove_prefix(end + 1);
  }
  read.is_cut = !text.empty();
  return read;
}

ExportedRows read_exported_csv(const std::filesystem::path& trial) {
  ExportedRows read;
  const auto content = content_of(trial / "progress.csv");
  read.is_there = content.has_value();
  if (!content) return read;
  read.files = 1;
  CsvRecords records(*content);
  if (const auto names = records.next()) {
    while (const auto cells = records.next()) {
      ExportRow row;
      read.damage = row_of_cells(*names, *cells, row);
      if (!read.damage.empty()) {
        read.damage.insert(0, "row " + std::to_string(read.rows.size() + 1) + ": ");
        return read;
      }
      read.rows.push_back(std::move(row));
    }
  }
  read.is_cut = records.has_more();
  return read;
}

}  // namespace tune::runtime
