#pragma once

#include <string>
#include <vector>

#include <tune/callback.hpp>
#include <tune/experiment.hpp>

namespace tune::runtime {

/// The program and its arguments, as they were given.
[[nodiscard]] std::vector<std::string> words_of_this_program();
/// The command line, quoted for a shell, that goes on with an experiment which the program with
/// `words` has begun: with the experiment's name if the program did not give it one, and without
/// what would keep it from going on.
[[nodiscard]] std::string resume_command(const std::vector<std::string>& words,
                                         const ExperimentInfo& experiment, Resume resume);
/// `words` as a shell takes them.
[[nodiscard]] std::string quoted_for_shell(const std::string& word);

}  // namespace tune::runtime
