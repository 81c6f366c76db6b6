#include "runtime/resume_command.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

namespace tune::runtime {

std::string quoted_for_shell(const std::string& word) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-./=:,+@%").find(char(c)) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::vector<std::string> words_of_this_program() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(std::move(word));
  return words;
}

std::string resume_command(const std::vector<std::string>& words, const ExperimentInfo& experiment,
                           Resume resume) {
  std::vector<std::string> own;
  // A name that was made up is another one next time.
  if (experiment.has_default_name) own.push_back("--tune-name=" + experiment.name);
  // What moved an earlier run aside, or refused to go on with one, would do so with this one.
  const bool would_not_go_on = resume == Resume::fresh || resume == Resume::never;
  if (would_not_go_on) own.emplace_back("--tune-resume=automatic");
  std::string command;
  bool is_programs = false;  // what stands behind "--"
  for (std::size_t i = 0; i < words.size(); ++i) {
    is_programs = is_programs || words[i] == "--";
    if (would_not_go_on && !is_programs && i > 0) {
      if (words[i].starts_with("--tune-resume=")) continue;
      if (words[i] == "--tune-resume") {
        ++i;  // with its value
        continue;
      }
    }
    if (i > 0) command += ' ';
    command += quoted_for_shell(words[i]);
    if (i > 0) continue;
    for (const std::string& word : own) command += ' ' + quoted_for_shell(word);
  }
  return command;
}

}  // namespace tune::runtime
