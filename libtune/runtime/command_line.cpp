#include "runtime/command_line.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include <boost/program_options.hpp>

#include <tune/error.hpp>

#include "command_line_value.hpp"
#include "core/closest_name.hpp"
#include "core/number_text.hpp"
#include "definition_check.hpp"
#include "plugin_loader.hpp"
#include "runtime/experiment_directory.hpp"
#include "runtime/host.hpp"

namespace tune::runtime {
namespace {

namespace po = boost::program_options;

constexpr std::string_view own_prefix = "--tune-";
constexpr const char* help_option = "tune-help";
constexpr const char* resource_option = "tune-resource";
constexpr const char* plugin_option = "tune-plugin";
constexpr const char* label_option = "tune-label";
constexpr const char* join_option = "tune-join";
constexpr const char* stay_option = "tune-stay";
constexpr const char* scratch_option = "tune-scratch";
constexpr const char* certificates_option = "tune-make-certificates";
constexpr const char* machine_option = "tune-show-machine";

struct OverrideOption {
  const char* name;        // behind "--"
  const char* value_name;  // nullptr: it takes none
  const char* help;
  void (*set)(Experiment&, const std::string& value);
  void (*check)(const Experiment&);  // of what was set, as it will be checked before a run
};

void check_name(const Experiment& experiment) { check_experiment_name(experiment.name); }
void check_storage(const Experiment& experiment) { (void)resolve_storage(experiment.storage_path); }
void check_local(const Experiment& experiment) { (void)local_machine(experiment.local); }
void check_listen(const Experiment& experiment) {
  (void)parse_host_port(experiment.cluster.listen);
}
void check_request(const Experiment& experiment) { (void)ResourceRequest(experiment.resources); }

void set_request(Experiment& experiment, double Resources::*field, const std::string& value) {
  if (experiment.resources.of) {
    throw std::invalid_argument(
        "the experiment's resources are a function of the configuration, and the command line can "
        "only take the place of a number");
  }
  experiment.resources.*field = number_value(value);
}

/// The object may have it already, from a run before.
void add_plugin(Experiment& experiment, const std::string& plugin) {
  std::vector<std::string>& plugins = experiment.plugins;
  if (std::find(plugins.begin(), plugins.end(), plugin) == plugins.end()) plugins.push_back(plugin);
}

using Text = const std::string&;

// In the order of the help.
constexpr std::array override_options = {
    OverrideOption{"tune-name", "NAME",
                   "name of the experiment, and of its directory below the storage path",
                   [](Experiment& e, Text value) { e.name = value; }, check_name},
    OverrideOption{"tune-storage-path", "PATH", "where results go: a path, ~/... or file:///...",
                   [](Experiment& e, Text value) { e.storage_path = value; }, check_storage},
    OverrideOption{"tune-resume", "HOW",
                   "what becomes of an experiment of this name that is on record: automatic, "
                   "never, fresh, errored or restart_errored",
                   [](Experiment& e, Text value) { e.resume = resume_value(value); },
                   check_numbers},
    OverrideOption{"tune-resume-from", "PATH", "a checkpoint with which each trial starts",
                   [](Experiment& e, Text value) { e.resume_from = value; }, check_numbers},
    OverrideOption{"tune-accept-new-space", nullptr,
                   "let an experiment on record go on with another search space",
                   [](Experiment& e, Text) { e.accept_new_space = true; }, check_numbers},
    OverrideOption{plugin_option, "PATH",
                   "a plugin to load: a path, or a name in TUNE_PLUGIN_PATH; once for each",
                   [](Experiment& e, Text value) { add_plugin(e, value); },
                   [](const Experiment& e) { load_plugins(e.plugins); }},
    OverrideOption{
        "tune-num-samples", "N",
        "configurations to try, times the grid; -1: until something else ends it",
        [](Experiment& e, Text value) { e.num_samples = whole_value<std::int64_t>(value); },
        check_numbers},
    OverrideOption{"tune-time-budget", "SECONDS", "end the experiment after so long",
                   [](Experiment& e, Text value) {
                     e.time_budget = std::chrono::duration<double>(number_value(value));
                   },
                   check_numbers},
    OverrideOption{"tune-suggest-budget", "SECONDS",
                   "draw at random where the searcher thinks for longer than that",
                   [](Experiment& e, Text value) {
                     e.suggest_budget = std::chrono::duration<double>(number_value(value));
                   },
                   check_numbers},
    OverrideOption{
        "tune-max-concurrent", "N", "trials that run at once; 0: as many as resources allow",
        [](Experiment& e, Text value) { e.max_concurrent = whole_value<std::int64_t>(value); },
        check_numbers},
    OverrideOption{"tune-max-failures", "N", "retries of a failing trial; -1: no limit",
                   [](Experiment& e, Text value) {
                     e.failure.max_failures = whole_value<std::int64_t>(value);
                   },
                   check_numbers},
    OverrideOption{"tune-fail-fast", nullptr, "end with the first trial that failed",
                   [](Experiment& e, Text) { e.failure.fail_fast = true; }, check_numbers},
    OverrideOption{"tune-checkpoint-keep-best", "N",
                   "checkpoints with the best metric that each trial keeps beside the newest",
                   [](Experiment& e, Text value) {
                     e.checkpoint.keep_best = whole_value<std::int64_t>(value);
                   },
                   check_numbers},
    OverrideOption{"tune-seed", "N", "seed of all that is drawn",
                   [](Experiment& e, Text value) { e.seed = whole_value<std::uint64_t>(value); },
                   check_numbers},
    OverrideOption{"tune-isolation", "processes|threads", "where the training code runs",
                   [](Experiment& e, Text value) { e.isolation = isolation_value(value); },
                   check_numbers},
    OverrideOption{"tune-cpus", "N", "cores to use here; -1: all that this program may use",
                   [](Experiment& e, Text value) { e.local.cpus = number_value(value); },
                   check_local},
    OverrideOption{"tune-gpus", "N", "GPUs to use here; -1: all that this program may use",
                   [](Experiment& e, Text value) { e.local.gpus = number_value(value); },
                   check_local},
    OverrideOption{"tune-memory", "SIZE",
                   "memory to use here, such as 4GB or 1.5GiB; 0: all that this program may use",
                   [](Experiment& e, Text value) { e.local.memory = size_value(value); },
                   check_local},
    OverrideOption{resource_option, "NAME=AMOUNT",
                   "what is here of a resource of your own; once for each name",
                   [](Experiment& e, Text value) {
                     const auto [name, amount] = amount_value(value);
                     e.local.custom[name] = amount;
                   },
                   check_local},
    OverrideOption{label_option, "NAME=VALUE",
                   "what this machine says of itself to trials that ask; once for each name",
                   [](Experiment& e, Text value) {
                     const auto [name, text] = label_value(value);
                     e.local.labels[name] = text;
                   },
                   check_numbers},
    OverrideOption{"tune-listen", "HOST:PORT",
                   "let other machines take part: they run this program with --tune-join",
                   [](Experiment& e, Text value) { e.cluster.listen = value; }, check_listen},
    OverrideOption{"tune-insecure", nullptr,
                   "listen where other machines can reach it, though whoever does can run code",
                   [](Experiment& e, Text) { e.cluster.insecure = true; }, check_numbers},
    OverrideOption{"tune-ca", "FILE",
                   "encrypt connections of nodes: the CA, in PEM, of which both sides must have a "
                   "certificate",
                   [](Experiment& e, Text value) { e.cluster.ca = value; }, check_numbers},
    OverrideOption{"tune-cert", "FILE", "this machine's certificate of that CA",
                   [](Experiment& e, Text value) { e.cluster.cert = value; }, check_numbers},
    OverrideOption{"tune-key", "FILE", "the key of that certificate, without a passphrase",
                   [](Experiment& e, Text value) { e.cluster.key = value; }, check_numbers},
    OverrideOption{"tune-no-local", nullptr,
                   "run no trials on this machine, only on nodes that join",
                   [](Experiment& e, Text) { e.local.cpus = e.local.gpus = 0; }, check_numbers},
    OverrideOption{"tune-node-timeout", "SECONDS", "a node that is silent for so long is lost",
                   [](Experiment& e, Text value) {
                     e.node_timeout = std::chrono::duration<double>(number_value(value));
                   },
                   check_numbers},
    OverrideOption{"tune-driver-grace", "SECONDS",
                   "how long nodes hold on to their trials if this driver dies",
                   [](Experiment& e, Text value) {
                     e.driver_grace = std::chrono::duration<double>(number_value(value));
                   },
                   check_numbers},
    OverrideOption{"tune-trial-cpus", "N", "cores for each trial",
                   [](Experiment& e, Text value) { set_request(e, &Resources::cpu, value); },
                   check_request},
    OverrideOption{
        "tune-trial-gpus", "N", "GPUs for each trial: a fraction of one, or a whole number",
        [](Experiment& e, Text value) { set_request(e, &Resources::gpu, value); }, check_request},
    OverrideOption{"tune-verbosity", "0|1|2",
                   "what is shown on stderr: nothing, a display, also a line a trial",
                   [](Experiment& e, Text value) { e.verbosity = whole_value<int>(value); },
                   check_numbers},
    OverrideOption{"tune-show-output", nullptr, "show what the trials print",
                   [](Experiment& e, Text) { e.show_output = true; }, check_numbers},
};

po::options_description describe_options() {
  po::options_description description("options for each experiment that this program runs");
  auto add = description.add_options();
  for (const OverrideOption& option : override_options) {
    if (option.value_name == nullptr) {
      add(option.name, option.help);
    } else {
      add(option.name, po::value<std::string>()->value_name(option.value_name), option.help);
    }
  }
  add(join_option, po::value<std::string>()->value_name("HOST:PORT"),
      "be a node of the driver that listens there, and run no experiment here");
  add(stay_option, "with --tune-join: wait for the next experiment after the end of one");
  add(scratch_option, po::value<std::string>()->value_name("DIR"),
      "with --tune-join: where to keep copies of checkpoints, if the driver's files are not seen "
      "here");
  add(certificates_option, po::value<std::string>()->value_name("DIR"),
      "make a private CA there, and a certificate for each of the names that follow, and leave");
  add(machine_option,
      "print what trials could use here, each GPU, and why one is left out, and leave");
  add(help_option, "print this and leave");
  return description;
}

/// The option that a word such as "--tune-seed=3" gives; null if it is unknown.
const po::option_description* find_option(const po::options_description& known,
                                          std::string_view word) {
  const std::size_t begin = 2;
  const std::string name(word.substr(begin, word.find('=') - begin));
  return known.find_nothrow(name, /*approx=*/false);
}

bool takes_value(const po::option_description& option) {
  return option.semantic()->max_tokens() > 0;
}

/// Moves the words for tune to the result, each joined with its value, and the others to
/// `program_words`.
std::vector<std::string> take_own_words(std::span<char* const> arguments,
                                        const po::options_description& known,
                                        std::vector<char*>& program_words) {
  std::vector<std::string> own;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string word = arguments[i];
    if (word == "--") {
      program_words.insert(program_words.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i),
                           arguments.end());
      break;
    }
    if (!word.starts_with(own_prefix)) {
      program_words.push_back(arguments[i]);
      continue;
    }
    const po::option_description* option = find_option(known, word);
    const bool wants_next =
        option != nullptr && takes_value(*option) && word.find('=') == std::string::npos;
    // A value may begin with one dash, as -1 does; with two it is the next option.
    if (wants_next && i + 1 < arguments.size() &&
        !std::string_view(arguments[i + 1]).starts_with("--")) {
      word.append("=").append(arguments[++i]);
    }
    own.push_back(std::move(word));
  }
  return own;
}

/// Says what is wrong with a word that Boost refused.
[[noreturn]] void refuse_word(const po::options_description& known, const std::string& word) {
  const std::size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  const po::option_description* option = find_option(known, word);
  if (option == nullptr) {
    // Compared without what all have in common: with it, all would be close.
    constexpr std::size_t common = own_prefix.size() - 2;
    std::vector<std::string> names;
    for (const auto& other : known.options()) names.push_back(other->long_name().substr(common));
    const std::string closest = core::closest_name(name.substr(own_prefix.size()), names);
    throw std::invalid_argument(
        word + ": there is no option " + name +
        (closest.empty() ? "" : "; did you mean " + std::string(own_prefix) + closest + "?"));
  }
  if (takes_value(*option)) {
    throw std::invalid_argument(name + " has no value, want " + option->format_parameter() + ": " +
                                option->description());
  }
  throw std::invalid_argument(name + " takes no value, is " +
                              core::value_text(word.substr(equals + 1)));
}

/// One of take_own_words(), read by itself: of two, Boost may take the second for the first's
/// value.
po::option read_word(const po::options_description& known, const std::string& word) {
  // No guessing: a name that is cut short may be a mistake.
  constexpr int style =
      po::command_line_style::allow_long | po::command_line_style::long_allow_adjacent;
  try {
    return po::command_line_parser({word}).options(known).style(style).run().options.at(0);
  } catch (const po::error&) {
    refuse_word(known, word);
  }
}

std::string text_of(const Override& given) {
  return given.value.empty() ? given.option : given.option + "=" + given.value;
}

/// Calls `use`, and has what it throws begin with the option and its value.
template <class Use>
void name_in_errors(const Override& given, const Use& use) {
  try {
    use();
  } catch (const std::invalid_argument& error) {
    const std::string value =
        given.value.empty() ? std::string() : " is " + core::value_text(given.value);
    throw std::invalid_argument(given.option + value + ": " + error.what());
  }
}

Override make_override(const po::option& read) {
  const auto* option =
      std::find_if(override_options.begin(), override_options.end(),
                   [&](const OverrideOption& known) { return known.name == read.string_key; });
  TUNE_ASSERT(option != override_options.end());
  const Override given{"--" + read.string_key, read.value.empty() ? "" : read.value[0],
                       option->set};
  name_in_errors(given, [&] {
    Experiment experiment;
    option->set(experiment, given.value);
    option->check(experiment);
  });
  return given;
}

void take_certificate_option(const po::option& read, CommandLine& line) {
  const Override given{"--" + read.string_key, read.value[0], nullptr};
  if (!line.certificate_directory.empty()) {
    throw std::invalid_argument(text_of(given) + ": it is given twice, the other is --" +
                                certificates_option + "=" + line.certificate_directory);
  }
  name_in_errors(given, [&] {
    if (given.value.empty()) throw std::invalid_argument("want a directory");
  });
  line.certificate_directory = given.value;
}

/// What may be given once.
std::string key_of(const Override& given) {
  if (given.option.substr(2) == plugin_option) return text_of(given);
  if (given.option.substr(2) == label_option) {
    return given.option + "=" + label_value(given.value).first;
  }
  if (given.option.substr(2) != resource_option) return given.option;
  return given.option + "=" + amount_value(given.value).first;
}

void refuse_second(const std::vector<Override>& before, const Override& given) {
  for (const Override& other : before) {
    if (key_of(other) != key_of(given)) continue;
    throw std::invalid_argument(text_of(given) + ": it is given twice, the other is " +
                                text_of(other));
  }
}

void take_scratch_option(const Override& given, CommandLine& line) {
  if (!line.scratch.empty()) {
    throw std::invalid_argument(text_of(given) + ": it is given twice, the other is --" +
                                scratch_option + "=" + line.scratch);
  }
  name_in_errors(given, [&] {
    std::error_code ignored;
    if (!std::filesystem::is_directory(given.value, ignored)) {
      throw std::invalid_argument("there is no such directory");
    }
    line.scratch = std::filesystem::absolute(given.value).lexically_normal().string();
  });
}

void take_node_option(const po::option& read, CommandLine& line) {
  if (read.string_key == stay_option) {
    line.stays = true;
    return;
  }
  const Override given{"--" + read.string_key, read.value[0], nullptr};
  if (read.string_key == scratch_option) return take_scratch_option(given, line);
  if (line.join) {
    throw std::invalid_argument(text_of(given) + ": it is given twice, the other is " +
                                line.join->text());
  }
  name_in_errors(given, [&] {
    line.join = parse_host_port(given.value);
    if (line.join->port == 0) throw std::invalid_argument("want the port of a driver");
  });
}

void check_node_options(const CommandLine& line) {
  if (!line.join) {
    if (line.stays) throw std::invalid_argument("--tune-stay: it is for --tune-join");
    if (!line.scratch.empty()) throw std::invalid_argument("--tune-scratch: it is for --tune-join");
    return;
  }
  for (const Override& given : line.overrides) {
    if (given.option != "--tune-listen" && given.option != "--tune-no-local") continue;
    throw std::invalid_argument("--tune-join=" + line.join->text() + " and " + text_of(given) +
                                " exclude each other: a program is driver or node");
  }
}

}  // namespace

CommandLine parse_command_line(std::span<char* const> arguments) {
  const po::options_description known = describe_options();
  CommandLine line;
  const std::vector<std::string> words = take_own_words(arguments, known, line.program_words);
  const std::string help = std::string("--") + help_option;
  line.asks_for_help = std::find(words.begin(), words.end(), help) != words.end();
  if (line.asks_for_help) return line;
  for (const std::string& word : words) {
    const po::option read = read_word(known, word);
    if (read.string_key == join_option || read.string_key == stay_option ||
        read.string_key == scratch_option) {
      take_node_option(read, line);
      continue;
    }
    if (read.string_key == machine_option) {
      line.shows_machine = true;
      continue;
    }
    if (read.string_key == certificates_option) {
      take_certificate_option(read, line);
      continue;
    }
    Override given = make_override(read);
    refuse_second(line.overrides, given);
    line.overrides.push_back(std::move(given));
  }
  check_node_options(line);
  return line;
}

std::string command_line_help() {
  std::ostringstream options;
  options << describe_options();
  std::string text = options.str();
  // Boost leaves the space at which it breaks a line.
  for (std::size_t i = 0; (i = text.find(" \n", i)) != std::string::npos;) text.erase(i, 1);
  return text +
         "\nThey take the place of what the program sets. --tune-seed=3 and --tune-seed 3\n"
         "are the same. All other arguments, and all behind --, are the program's own.\n";
}

std::string overrides_text(const std::vector<Override>& overrides) {
  std::string text;
  for (const Override& given : overrides) text += (text.empty() ? "" : " ") + text_of(given);
  return text;
}

void apply_overrides(const std::vector<Override>& overrides, Experiment& experiment) {
  for (const Override& given : overrides) {
    name_in_errors(given, [&] { given.set(experiment, given.value); });
  }
}

}  // namespace tune::runtime
