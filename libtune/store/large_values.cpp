#include "large_values.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <vector>

#include <sqlite3.h>

#include "content_hash.hpp"
#include "journal_statement.hpp"

namespace tune::store {
namespace {

// Within a JSON string its quotes would be escaped, so that it is a reference wherever it stands.
constexpr std::string_view reference_begin = R"({"$large_value":")";
constexpr std::string_view reference_end = R"("})";
constexpr std::size_t hash_digits = 32;
constexpr std::size_t reference_size = reference_begin.size() + hash_digits + reference_end.size();

std::string_view hash_of_reference(std::string_view reference) {
  return reference.substr(reference_begin.size(), hash_digits);
}

bool begins_with_reference(std::string_view text) {
  if (!text.starts_with(reference_begin) || text.size() < reference_size) return false;
  const std::string_view hash = hash_of_reference(text);
  return hash.find_first_not_of("0123456789abcdef") == std::string_view::npos &&
         text.substr(reference_begin.size() + hash_digits).starts_with(reference_end);
}

bool is_reference(std::string_view text) {
  return text.size() == reference_size && begins_with_reference(text);
}

std::string hash_of(std::string_view value) {
  ContentHash hash;
  hash.add(value);
  return hash.text();
}

// The value of a reference, as it was stored.
std::string stored_value(sqlite3* database, const std::string& hash) {
  sqlite3_stmt* select = nullptr;
  std::string value;
  int status = sqlite3_prepare_v2(database, "SELECT value FROM large_values WHERE hash = ?", -1,
                                  &select, nullptr);
  if (status == SQLITE_OK) {
    sqlite3_bind_text(select, 1, hash.data(), static_cast<int>(hash.size()), SQLITE_STATIC);
    status = sqlite3_step(select);
  }
  if (status == SQLITE_ROW) {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(select, 0));
    value.assign(bytes, static_cast<std::size_t>(sqlite3_column_bytes(select, 0)));
  }
  sqlite3_finalize(select);
  if (status == SQLITE_DONE) {
    throw std::runtime_error("damaged: the large value " + hash + " is missing");
  }
  if (status != SQLITE_ROW) {
    throw std::runtime_error("the large value " + hash + ": " + sqlite3_errstr(status));
  }
  // So no value can be within itself, either.
  if (hash_of(value) != hash) {
    throw std::runtime_error("damaged: the large value " + hash + " is not what it was");
  }
  return value;
}

void append_whole(std::string& out, sqlite3* database, std::string_view text) {
  for (;;) {
    const std::size_t place = text.find(reference_begin);
    out += text.substr(0, place);
    if (place == std::string_view::npos) return;
    text.remove_prefix(place);
    if (!begins_with_reference(text)) {
      out += reference_begin;
      text.remove_prefix(reference_begin.size());
      continue;
    }
    const std::string value = stored_value(database, std::string(hash_of_reference(text)));
    if (is_reference(value)) {
      out += value;  // a user's object that only looks like one
    } else {
      append_whole(out, database, value);
    }
    text.remove_prefix(reference_size);
  }
}

void whole(sqlite3_context* context, int /*count*/, sqlite3_value** arguments) {
  const auto* bytes = static_cast<const char*>(sqlite3_value_blob(arguments[0]));
  if (bytes == nullptr) return sqlite3_result_value(context, arguments[0]);  // NULL, or empty
  const std::string_view text(bytes, static_cast<std::size_t>(sqlite3_value_bytes(arguments[0])));
  if (text.find(reference_begin) == std::string_view::npos) {
    return sqlite3_result_value(context, arguments[0]);
  }
  try {
    std::string out;
    append_whole(out, sqlite3_context_db_handle(context), text);
    sqlite3_result_text64(context, out.data(), out.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  } catch (const std::exception& error) {
    sqlite3_result_error(context, error.what(), -1);
  }
}

}  // namespace

// Goes over a JSON text once and copies it, but for what is large.
class LargeValues::Scan {
 public:
  Scan(SQLite::Statement& insert, std::string_view json) : insert_(insert), json_(json) {
    out_.reserve(std::min<std::size_t>(json.size(), 2 * large_value_bytes));
  }

  /// Empty as shrunk() is.
  std::optional<std::string> run() {
    while (place_ < json_.size()) {
      if (!step()) return {};
    }
    if (!is_changed_ || !begins_.empty()) return {};
    return std::move(out_);
  }

 private:
  // False: it is no JSON.
  bool step() {
    const char next = json_[place_];
    if (next == '"') return copy_string();
    if (next == '{' || next == '[') begins_.push_back(out_.size());
    out_ += next;
    ++place_;
    if (next != '}' && next != ']') return true;
    if (begins_.empty()) return false;
    const std::size_t begin = begins_.back();
    begins_.pop_back();
    end_value(begin);
    return true;
  }

  bool copy_string() {
    std::size_t end = place_ + 1;
    while (end < json_.size() && json_[end] != '"') end += json_[end] == '\\' ? 2 : 1;
    if (end >= json_.size()) return false;
    const std::size_t begin = out_.size();
    out_ += json_.substr(place_, end + 1 - place_);
    place_ = end + 1;
    const std::size_t behind = json_.find_first_not_of(" \t\r\n", place_);
    const bool is_name = behind != std::string_view::npos && json_[behind] == ':';
    if (!is_name) end_value(begin);
    return true;
  }

  // A value stands in `out_` from `begin` on.
  void end_value(std::size_t begin) {
    const std::string_view value = std::string_view(out_).substr(begin);
    const bool is_all = begins_.empty();
    const bool is_large = !value.starts_with('{') && value.size() >= large_value_bytes;
    if (!is_reference(value) && (is_all || !is_large)) return;
    const std::string large(value);
    const std::string hash = hash_of(large);
    run_statement(insert_, hash, large);
    out_.resize(begin);
    out_ += reference_begin;
    out_ += hash;
    out_ += reference_end;
    is_changed_ = true;
  }

  SQLite::Statement& insert_;
  std::string_view json_;
  std::size_t place_ = 0;
  std::string out_;
  std::vector<std::size_t> begins_;  // in `out_`, of the objects and arrays around `place_`
  bool is_changed_ = false;
};

LargeValues::LargeValues(SQLite::Database& database)
    : longest_(
          static_cast<std::size_t>(sqlite3_limit(database.getHandle(), SQLITE_LIMIT_LENGTH, -1))),
      insert_(database,
              // A row that was damaged is made good.
              "INSERT INTO large_values VALUES (?, ?) ON CONFLICT (hash) DO UPDATE "
              "SET value = excluded.value WHERE value <> excluded.value") {}

std::optional<std::string> LargeValues::shrunk(std::string_view json) {
  if (json.size() < large_value_bytes && json.find(reference_begin) == std::string_view::npos) {
    return {};
  }
  // It could be written in pieces, but not be read.
  if (json.size() > longest_) return {};
  return Scan(insert_, json).run();
}

void add_whole_function(SQLite::Database& database) {
  database.createFunction("whole", 1, false, nullptr, whole);
}

}  // namespace tune::store
