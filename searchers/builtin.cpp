#include <tune/searchers/builtin.hpp>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <tune/registry.hpp>
#include <tune/searchers/automatic.hpp>
#include <tune/searchers/bohb.hpp>
#include <tune/searchers/cma_es.hpp>
#include <tune/searchers/concurrency_limited.hpp>
#include <tune/searchers/evolution.hpp>
#include <tune/searchers/gp.hpp>
#include <tune/searchers/grid.hpp>
#include <tune/searchers/halton.hpp>
#include <tune/searchers/random.hpp>
#include <tune/searchers/repeated.hpp>
#include <tune/searchers/sobol.hpp>
#include <tune/searchers/tpe.hpp>

#include "core/number_text.hpp"
#include "core/option_reader.hpp"
#include "core/saved_number.hpp"

namespace tune {
namespace {

std::unique_ptr<Searcher> make_random(const Json& options) {
  core::OptionReader("random", options).finish();
  return random_search();
}

std::unique_ptr<Searcher> make_grid(const Json& options) {
  core::OptionReader("grid", options).finish();
  return grid();
}

std::unique_ptr<Searcher> make_sobol(const Json& options) {
  core::OptionReader("sobol", options).finish();
  return sobol();
}

std::unique_ptr<Searcher> make_halton(const Json& options) {
  core::OptionReader("halton", options).finish();
  return halton();
}

std::vector<CmaSourceTrial> read_source(const Json& json) {
  const auto refuse = [](const Json& found) {
    throw std::invalid_argument("cma_es: source has " + core::value_text(found) +
                                ", want a list of {\"config\": {...}, \"value\": number}");
  };
  if (!json.is_array()) refuse(json);
  std::vector<CmaSourceTrial> source;
  for (const Json& entry : json) {
    const bool is_trial = entry.is_object() && entry.contains("config") &&
                          entry.at("config").is_object() && entry.contains("value") &&
                          (entry.at("value").is_number() || entry.at("value").is_string());
    if (!is_trial) refuse(entry);
    source.push_back(
        {entry.at("config"), core::restored_number(entry.at("value"), "cma_es: source")});
  }
  return source;
}

std::unique_ptr<Searcher> make_cma_es(const Json& json) {
  CmaEsOptions options;
  core::OptionReader reader("cma_es", json);
  std::string restarts(to_string(options.restarts));
  Json source = Json::array();
  reader.read("sigma0", options.sigma0);
  reader.read("x0", options.x0);
  reader.read("population_size", options.population_size);
  reader.read("restarts", restarts);
  reader.read("candidates", options.candidates);
  reader.read("full_covariance_up_to", options.full_covariance_up_to);
  reader.read("source", source);
  reader.finish();
  try {
    options.restarts = cma_restarts_from_string(restarts);
  } catch (const std::invalid_argument& e) {
    throw std::invalid_argument(std::string("cma_es: ") + e.what());
  }
  options.source = read_source(source);
  return cma_es(options);
}

std::unique_ptr<Searcher> make_evolution(const Json& json) {
  EvolutionOptions options;
  core::OptionReader reader("evolution", json);
  reader.read("population_size", options.population_size);
  reader.read("sample_size", options.sample_size);
  reader.read("mutations", options.mutations);
  reader.read("mutation_scale", options.mutation_scale);
  reader.finish();
  return evolution(options);
}

std::unique_ptr<Searcher> make_inner(const std::string& owner, const Json& json) {
  const auto name = json.find("name");
  if (!json.is_object() || name == json.end() || !name->is_string()) {
    throw std::invalid_argument(owner + ": searcher is " + json.dump() +
                                ", want an object with the name of a searcher and its options");
  }
  return make_searcher(name->get<std::string>(), json);
}

std::unique_ptr<Searcher> make_concurrency_limited(const Json& json) {
  core::OptionReader reader("concurrency_limited", json);
  Json searcher = {{"name", "random"}};
  std::int64_t max_concurrent = 1;
  reader.read("searcher", searcher);
  reader.read("max_concurrent", max_concurrent);
  reader.finish();
  return concurrency_limited(make_inner("concurrency_limited", searcher), max_concurrent);
}

std::unique_ptr<Searcher> make_repeated(const Json& json) {
  core::OptionReader reader("repeated", json);
  Json searcher = {{"name", "random"}};
  std::int64_t repeats = 1;
  reader.read("searcher", searcher);
  reader.read("repeats", repeats);
  reader.finish();
  return repeated(make_inner("repeated", searcher), repeats);
}

std::unique_ptr<Searcher> make_tpe(const Json& json) {
  TpeOptions options;
  core::OptionReader reader("tpe", json);
  reader.read("n_startup_trials", options.n_startup_trials);
  reader.read("n_ei_candidates", options.n_ei_candidates);
  reader.read("gamma", options.gamma);
  reader.read("prior_weight", options.prior_weight);
  reader.read("multivariate", options.multivariate);
  reader.read("max_kernels", options.max_kernels);
  reader.finish();
  return tpe(options);
}

std::unique_ptr<Searcher> make_bohb_searcher(const Json& json) {
  BohbOptions options;
  core::OptionReader reader("bohb", json);
  reader.read("min_points_in_model", options.min_points_in_model);
  reader.read("top_n_percent", options.top_n_percent);
  reader.read("num_samples", options.num_samples);
  reader.read("random_fraction", options.random_fraction);
  reader.read("reduction_factor", options.reduction_factor);
  reader.finish();
  return bohb(options);
}

std::unique_ptr<Searcher> make_automatic(const Json& json) {
  AutomaticOptions options;
  core::OptionReader reader("automatic", json);
  reader.read("gp_trials", options.gp_trials);
  reader.read("gp_parameters", options.gp_parameters);
  reader.finish();
  return automatic(options);
}

std::unique_ptr<Searcher> make_gp(const Json& json) {
  GpOptions options;
  Json noise;
  core::OptionReader reader("gp", json);
  reader.read("startup_trials", options.startup_trials);
  reader.read("noise", noise);
  reader.read("max_observations", options.max_observations);
  reader.finish();
  if (!noise.is_null() && !noise.is_number()) {
    throw std::invalid_argument("gp: noise is " + noise.dump() + ", want a number or null");
  }
  if (noise.is_number()) options.noise = noise.get<double>();
  return gp(options);
}

}  // namespace

void register_builtin_searchers() {
  register_searcher("automatic", make_automatic,
                    "picks one that fits: gp, tpe where there are many trials or parameters");
  register_searcher("random", make_random, "draws each parameter from its domain");
  register_searcher("grid", make_grid, "tries every configuration there is");
  register_searcher("sobol", make_sobol, "fills the space evenly: a scrambled Sobol sequence");
  register_searcher("halton", make_halton, "fills the space evenly: a scrambled Halton sequence");
  register_searcher("cma_es", make_cma_es,
                    "adapts a normal distribution: the covariance matrix adaptation evolution "
                    "strategy");
  register_searcher("evolution", make_evolution,
                    "changes the best of the newest trials: regularised evolution");
  register_searcher("concurrency_limited", make_concurrency_limited,
                    "around another: proposes only while few of its trials run");
  register_searcher("repeated", make_repeated,
                    "around another: runs each configuration several times, for the mean");
  register_searcher("tpe", make_tpe, "draws what is likelier among good trials than among bad");
  register_searcher("bohb", make_bohb_searcher,
                    "the same among trials that have trained long enough");
  register_searcher("gp", make_gp, "a Gaussian process and log expected improvement");
}

}  // namespace tune
