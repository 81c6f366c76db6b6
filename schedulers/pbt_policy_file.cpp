#include <array>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <string>
#include <system_error>

#include <tune/schedulers/pbt_replay.hpp>

#include "exchange_chain.hpp"

namespace tune {

// The one look of a scheduler at a file, before anything runs.
Json read_pbt_policy(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) throw std::system_error(errno, std::generic_category(), file.string());
  std::string text;
  std::array<char, 4096> buffer{};
  while (stream.read(buffer.data(), buffer.size()) || stream.gcount() > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(stream.gcount()));
  }
  if (stream.bad()) throw std::system_error(errno, std::generic_category(), file.string());
  return schedulers::policy_of_log(text, file.string());
}

}  // namespace tune
