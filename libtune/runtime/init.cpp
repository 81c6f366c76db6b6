#include <tune/init.hpp>

#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cluster_tls.hpp"
#include "given_overrides.hpp"
#include "runtime/gpu_probe.hpp"
#include "runtime/grant_environment.hpp"
#include "runtime/guardian.hpp"
#include "runtime/host.hpp"
#include "runtime/serve_node.hpp"
#include "runtime/tls_files.hpp"
#include "worker_process.hpp"

namespace tune {
namespace {

std::atomic<bool> was_called{false};

void require_socket(std::string_view argument) {
  struct stat status {};
  if (::fstat(runtime::inherited_socket, &status) == 0 && S_ISSOCK(status.st_mode)) return;
  throw std::invalid_argument(std::string(argument) +
                              " is for processes that tune starts itself, and was given by hand");
}

/// In a process that tune started itself it does not return.
void serve_if_started_for_it(int argc, char** argv) {
  if (argc != 2) return;
  const std::string_view argument = argv[1];
  if (argument == runtime::guardian_argument) {
    require_socket(argument);
    runtime::serve_guardian();
  }
  if (argument == runtime::worker_argument) {
    require_socket(argument);
    runtime::serve_worker();
  }
}

// Only init() changes it, on the first line of main().
std::vector<runtime::Override>& stored_overrides() {
  static std::vector<runtime::Override> overrides;
  return overrides;
}

[[noreturn]] void serve_as_node(const runtime::CommandLine& line) {
  Experiment given;
  runtime::apply_overrides(line.overrides, given);
  runtime::check_cluster_tls(given.cluster);
  runtime::serve_node({*line.join, given.local, given.name, line.stays, given.verbosity > 0,
                       runtime::cluster_tls(given.cluster), line.scratch});
}

[[noreturn]] void show_machine(const runtime::CommandLine& line) {
  Experiment given;
  runtime::apply_overrides(line.overrides, given);
  std::cout << runtime::local_machine(given.local).capacity.describe() << '\n'
            << runtime::GpuLibrary().find(runtime::program_environment()).describe() << std::flush;
  std::exit(EXIT_SUCCESS);
}

[[noreturn]] void make_certificates(const runtime::CommandLine& line) {
  std::vector<std::string> names(line.program_words.begin(), line.program_words.end());
  if (names.empty()) names = {"driver", "node"};
  const auto made = runtime::make_certificates(line.certificate_directory, names);
  if (!made) {
    std::cerr << "tune: " << made.error().message << '\n';
    std::exit(EXIT_FAILURE);
  }
  for (const std::filesystem::path& path : *made) std::cout << path.string() << '\n';
  std::cout << std::flush;
  std::exit(EXIT_SUCCESS);
}

/// Keeps what is for tune, and leaves the rest in place.
void take_options(int& argc, char** argv) {
  if (argc < 1) return;
  const std::span<char*> arguments(argv + 1, static_cast<std::size_t>(argc - 1));
  const runtime::CommandLine line = runtime::parse_command_line(arguments);
  if (line.asks_for_help) {
    std::cout << runtime::command_line_help() << std::flush;
    std::exit(EXIT_SUCCESS);
  }
  if (line.shows_machine) show_machine(line);
  if (line.join) serve_as_node(line);
  if (!line.certificate_directory.empty()) make_certificates(line);
  std::vector<runtime::Override>& overrides = stored_overrides();
  overrides.insert(overrides.end(), line.overrides.begin(), line.overrides.end());
  char** const end = std::copy(line.program_words.begin(), line.program_words.end(), argv + 1);
  *end = nullptr;
  argc = static_cast<int>(end - argv);
}

}  // namespace

void init(int& argc, char** argv) {
  was_called = true;
  serve_if_started_for_it(argc, argv);
  try {
    take_options(argc, argv);
  } catch (const std::invalid_argument& error) {
    constexpr int bad_options = 2;
    std::cerr << "tune: " << error.what() << "\n--tune-help lists the options\n";
    std::exit(bad_options);
  }
}

namespace detail {

bool is_initialised() { return was_called; }

}  // namespace detail

namespace runtime {

const std::vector<Override>& given_overrides() { return stored_overrides(); }

}  // namespace runtime
}  // namespace tune
