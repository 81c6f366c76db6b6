// Searches with what plugins have, by name:
//
//   ./search --tune-plugin=./bold.so
//   TUNE_PLUGIN_PATH=. ./search --tune-plugin=bold
#include <exception>
#include <iostream>

#include <tune/tune.hpp>

namespace {

void list_plugins() {
  for (const tune::Registered& entry : tune::registered()) {
    if (entry.plugin.empty()) continue;
    std::cout << entry.name << ' ' << entry.options << ": " << entry.description << '\n';
  }
}

tune::ResultGrid search() {
  return tune::tune_run("CurveModel",
                        {
                            .name = "bold",
                            .storage_path = "results",
                            .space = {{"x", tune::uniform(0, 10)}},
                            .metric = "loss",
                            .mode = tune::Mode::min,
                            .num_samples = 12,
                            .searcher = tune::make_searcher("middle_first"),
                            .scheduler = tune::make_scheduler("fall_behind", {{"slack", 2}}),
                            .stop = {{"training_iteration", 8}},
                            .seed = 1,
                        });
}

}  // namespace

int main(int argc, char** argv) {
  tune::init(argc, argv);
  try {
    list_plugins();
    const tune::ResultGrid results = search();
    std::cout << results.size() << " trials, best " << results.best().config << '\n';
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
