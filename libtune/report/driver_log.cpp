#include "report/driver_log.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <functional>
#include <set>
#include <sstream>
#include <string>

#include "core/json_text.hpp"
#include "file_tail.hpp"

namespace tune::report {
namespace {

std::string utc_time() {
  using namespace std::chrono;
  const auto now = floor<milliseconds>(system_clock::now());
  const auto second = floor<seconds>(now);
  const std::time_t time = system_clock::to_time_t(second);
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 80> date{};
  std::strftime(date.data(), date.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), "%s.%03dZ", date.data(),
                static_cast<int>((now - second).count()));
  return text.data();
}

bool needs_quotes(std::string_view value) {
  return value.empty() || std::any_of(value.begin(), value.end(), [](unsigned char c) {
           return c <= ' ' || c == '"' || c == '=' || c == '\\' || c >= 0x7F;
         });
}

// True of a file whose writer died within a line.
bool is_cut(const std::filesystem::path& path) {
  FileTail tail(path);
  return tail.read(1) && !tail.text().empty() && tail.text().back() != '\n';
}

// How the line of an exploit begins, behind the time.
std::string exploit_key(const core::Exploit& exploit) {
  return "trial=" + std::to_string(exploit.trial.value()) +
         " event=exploited incarnation=" + std::to_string(exploit.incarnation) + ' ';
}

}  // namespace

DriverLog::DriverLog(FilePool& pool, const std::filesystem::path& path, OldLines old_lines)
    : file_(old_lines == OldLines::drop ? pool.create(path) : pool.continue_file(path)) {
  if (old_lines == OldLines::keep && is_cut(path)) file_->append("\n");
}

void DriverLog::write(std::initializer_list<Pair> pairs) {
  std::string line = "time=" + utc_time();
  for (const auto& [key, value] : pairs) {
    if (key.empty()) continue;
    line += ' ';
    line += key;
    line += '=';
    if (needs_quotes(value)) {
      core::append_json_text(line, value);
    } else {
      line += value;
    }
  }
  file_->append(line += '\n');
}

void DriverLog::write_exploit(const core::Exploit& exploit) {
  write({{"trial", std::to_string(exploit.trial.value())},
         {"event", "exploited"},
         {"incarnation", std::to_string(exploit.incarnation)},
         {"iteration", std::to_string(exploit.step)},
         {"donor", std::to_string(exploit.donor.value())},
         {"donor_iteration", std::to_string(exploit.donor_step)},
         {"changed", core::changes_text(exploit)}});
}

std::vector<const core::Exploit*> DriverLog::missing_exploits(
    const std::filesystem::path& path, std::vector<const core::Exploit*> exploits) {
  if (exploits.empty() || !std::filesystem::exists(path)) return exploits;
  std::set<std::string, std::less<>> found;
  std::istringstream lines(read_file(path));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find(' ') + 1;
    std::size_t end = begin;
    for (int keys = 0; keys < 3 && end != 0; ++keys) end = line.find(' ', end) + 1;
    found.insert(line.substr(begin, end - begin));
  }
  std::erase_if(exploits, [&found](const core::Exploit* exploit) {
    return found.contains(exploit_key(*exploit));
  });
  return exploits;
}

}  // namespace tune::report
