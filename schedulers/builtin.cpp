#include <tune/schedulers/builtin.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <tune/registry.hpp>
#include <tune/schedulers/asha.hpp>
#include <tune/schedulers/fifo.hpp>
#include <tune/schedulers/pasha.hpp>
#include <tune/schedulers/resource_changing.hpp>

#include "core/option_reader.hpp"

namespace tune {
namespace {

std::unique_ptr<TrialScheduler> make_fifo(const Json& options) {
  core::OptionReader("fifo", options).finish();
  return fifo();
}

std::unique_ptr<TrialScheduler> make_asha(const Json& json) {
  AshaOptions options;
  core::OptionReader reader("asha", json);
  reader.read("time_attr", options.time_attr);
  reader.read("metric", options.metric);
  reader.read("mode", options.mode);
  reader.read("max_t", options.max_t);
  reader.read("grace_period", options.grace_period);
  reader.read("reduction_factor", options.reduction_factor);
  reader.read("brackets", options.brackets);
  reader.finish();
  return asha(options);
}

std::unique_ptr<TrialScheduler> make_pasha(const Json& json) {
  PashaOptions options;
  core::OptionReader reader("pasha", json);
  reader.read("time_attr", options.time_attr);
  reader.read("metric", options.metric);
  reader.read("mode", options.mode);
  reader.read("max_t", options.max_t);
  reader.read("grace_period", options.grace_period);
  reader.read("reduction_factor", options.reduction_factor);
  reader.read("ranking_criterion", options.ranking_criterion);
  reader.read("epsilon", options.epsilon);
  reader.read("epsilon_scaling", options.epsilon_scaling);
  reader.read("percentile", options.percentile);
  reader.read("ranked_trials", options.ranked_trials);
  reader.finish();
  return pasha(options);
}

std::unique_ptr<TrialScheduler> make_resource_changing(const Json& json) {
  ResourceChangingOptions options;
  Json base = {{"name", "fifo"}};
  core::OptionReader reader("resource_changing", json);
  reader.read("base", base);
  reader.read("increase_by_times", options.increase_by_times);
  reader.finish();
  const auto name = base.find("name");
  if (name == base.end() || !name->is_string()) {
    throw std::invalid_argument("resource_changing: base is " + base.dump() +
                                ", want an object with the name of a scheduler and its options");
  }
  return resource_changing(make_scheduler(name->get<std::string>(), base), std::move(options));
}

}  // namespace

void register_builtin_schedulers() {
  register_scheduler("fifo", make_fifo);
  register_scheduler("asha", make_asha);
  register_scheduler("pasha", make_pasha);
  register_scheduler("resource_changing", make_resource_changing);
}

}  // namespace tune
