#include <tune/registry.hpp>

#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

#include <tune/plugin.hpp>

#include "core/number_text.hpp"
#include "engine/registration.hpp"
#include "registry_tables.hpp"

namespace tune {
namespace {

using PlainFunction = void (*)(const Config&);
using engine::RegistryEntry;
using engine::RegistryTable;
using engine::RegistryTables;

std::string quoted_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ", ") + core::value_text(name);
  }
  return text.empty() ? "none" : text;
}

// Plugins and the program may register from any thread.
struct Registries {
  std::mutex mutex;
  RegistryTables tables;
};
// A local static, so that it is there for the static initialisers that register.
Registries& registries() {
  static Registries registries;
  return registries;
}

thread_local engine::HeldBack* held_back = nullptr;  // where this thread's registrations go, if set
engine::ProvideName provide_name = nullptr;          // set once, while libraries are loaded

// Calls `add` with the tables into which this thread registers.
template <class Add>
bool registered_by(const Add& add) {
  if (held_back == nullptr) {
    const std::lock_guard lock(registries().mutex);
    add(registries().tables);
    return true;
  }
  try {
    add(held_back->tables);
    return true;
  } catch (const std::exception& error) {
    if (held_back->fault.empty()) held_back->fault = error.what();
    return false;
  }
}

template <class Code>
using TableMember = RegistryTable<Code> RegistryTables::*;

template <class Code>
std::optional<RegistryEntry<Code>> look_up(TableMember<Code> table, const std::string& name) {
  const std::lock_guard lock(registries().mutex);
  const RegistryEntry<Code>* entry = (registries().tables.*table).find(name);
  if (entry == nullptr) return std::nullopt;
  return *entry;
}

template <class Code>
std::vector<std::string> names_in(TableMember<Code> table) {
  const std::lock_guard lock(registries().mutex);
  return (registries().tables.*table).names();
}

template <class Code>
RegistryEntry<Code> find_entry(TableMember<Code> table, const std::string& name) {
  if (auto entry = look_up(table, name)) return *std::move(entry);
  std::string hint;
  if (provide_name != nullptr) {
    // Without the lock: it registers.
    hint = provide_name(name, [&] { return look_up(table, name).has_value(); });
    if (auto entry = look_up(table, name)) return *std::move(entry);
  }
  throw std::invalid_argument("no " + (registries().tables.*table).kind() + " " +
                              core::value_text(name) +
                              " is registered; there are: " + quoted_names(names_in(table)) + hint);
}

// By TrainableSpec::key: what a worker process can make.
struct Keys {
  std::mutex mutex;
  std::map<std::string, TrainableSpec> specs;
};
Keys& keys() {
  static Keys keys;
  return keys;
}

// options() gives the name among the options; here it is checked and taken out.
Json options_without_name(const std::string& kind, const std::string& name, Json options) {
  if (options.is_null()) return Json::object();
  if (!options.is_object()) {
    throw std::invalid_argument("options of " + kind + " " + core::value_text(name) +
                                " must be a JSON object, are " + core::value_text(options));
  }
  const auto given = options.find("name");
  if (given != options.end()) {
    if (*given != name) {
      throw std::invalid_argument("options of " + kind + " " + core::value_text(name) +
                                  " are for another: name is " + core::value_text(*given));
    }
    options.erase(given);
  }
  return options;
}

template <class Product>
std::unique_ptr<Product> checked_product(const std::string& factory,
                                         std::unique_ptr<Product> product) {
  if (!product) throw std::invalid_argument(factory + " made nothing");
  return product;
}

// What the factory of an entry makes. What one of a plugin throws is told with the plugin's file.
template <class Product, class Factory>
std::unique_ptr<Product> product_of(const std::string& kind, const std::string& name,
                                    const RegistryEntry<Factory>& entry, const Json& options) {
  const Json checked = options_without_name(kind, name, options);
  const std::string factory = "the factory of " + kind + " " + core::value_text(name);
  if (entry.plugin.empty()) return checked_product<Product>(factory, entry.code(checked));
  try {
    return checked_product<Product>(factory, entry.code(checked));
  } catch (const std::invalid_argument& error) {
    throw PluginError(entry.plugin, error.what());  // an option that it does not take, as a rule
  } catch (const std::exception& error) {
    throw PluginError(entry.plugin, factory + " threw: " + error.what());
  } catch (...) {
    throw PluginError(entry.plugin, factory + " threw what is no std::exception");
  }
}

// The defaults, as far as it can be made without options.
template <class Factory>
Json default_options(const Factory& factory) {
  try {
    const auto product = factory(Json::object());
    Json options = product ? product->options() : Json();
    if (options.is_object()) options.erase("name");
    return options;
  } catch (...) {
    return {};
  }
}

// The scheduler's own line where none was given with its name.
std::string default_description(const SchedulerFactory& factory) {
  try {
    const auto scheduler = factory(Json::object());
    return scheduler ? scheduler->describe() : std::string();
  } catch (...) {
    return {};
  }
}

}  // namespace

bool register_trainable(TrainableSpec spec, std::string description) {
  return registered_by([&](RegistryTables& tables) {
    if (static_cast<bool>(spec.make) == static_cast<bool>(spec.function)) {
      throw std::invalid_argument("trainable " + core::value_text(spec.name) +
                                  " must have either a class or a function");
    }
    std::string name = spec.name;
    spec.key = "name:" + name;
    tables.trainables.add(std::move(name), {std::move(spec), std::move(description)});
  });
}

bool register_function(std::string name, PlainFunction function, FunctionOptions options) {
  TrainableSpec spec;
  spec.name = std::move(name);
  spec.checkpoints = options.checkpoints;
  if (function != nullptr) {
    spec.function = function;
    return register_trainable(std::move(spec), std::move(options.description));
  }
  return registered_by([&](RegistryTables&) {
    throw std::invalid_argument("train function " + core::value_text(spec.name) + " is null");
  });
}

bool register_scheduler(std::string name, SchedulerFactory factory, std::string description) {
  return registered_by([&](RegistryTables& tables) {
    if (!factory) throw std::invalid_argument("scheduler " + core::value_text(name) + " is null");
    tables.schedulers.add(std::move(name), {std::move(factory), std::move(description)});
  });
}

bool register_searcher(std::string name, SearcherFactory factory, std::string description) {
  return registered_by([&](RegistryTables& tables) {
    if (!factory) throw std::invalid_argument("searcher " + core::value_text(name) + " is null");
    tables.searchers.add(std::move(name), {std::move(factory), std::move(description)});
  });
}

bool register_worker_function(std::string name, TrialWorkerFunction function) {
  return registered_by([&](RegistryTables& tables) {
    if (!function) {
      throw std::invalid_argument("worker function " + core::value_text(name) + " is null");
    }
    tables.worker_functions.add(std::move(name), {std::move(function), {}});
  });
}

TrialWorkerFunction find_worker_function(const std::string& name) {
  return find_entry(&RegistryTables::worker_functions, name).code;
}

TrainableSpec find_trainable(const std::string& name) {
  return find_entry(&RegistryTables::trainables, name).code;
}

TrainableSpec find_function(PlainFunction function) {
  {
    const std::lock_guard lock(registries().mutex);
    for (const auto& [name, entry] : registries().tables.trainables.entries()) {
      const auto* registered = entry.code.function.template target<PlainFunction>();
      if (registered != nullptr && *registered == function) return entry.code;
    }
  }
  TrainableSpec spec;
  spec.name = "function";
  spec.function = function;
  return spec;
}

std::unique_ptr<TrialScheduler> make_scheduler(const std::string& name, const Json& options) {
  return product_of<TrialScheduler>("scheduler", name,
                                    find_entry(&RegistryTables::schedulers, name), options);
}

std::unique_ptr<Searcher> make_searcher(const std::string& name, const Json& options) {
  return product_of<Searcher>("searcher", name, find_entry(&RegistryTables::searchers, name),
                              options);
}

std::vector<std::string> trainable_names() { return names_in(&RegistryTables::trainables); }

std::vector<std::string> scheduler_names() { return names_in(&RegistryTables::schedulers); }

std::vector<std::string> searcher_names() { return names_in(&RegistryTables::searchers); }

namespace engine {

PluginRegistrations::PluginRegistrations(std::string file)
    : held_back_(std::make_unique<HeldBack>(HeldBack{std::move(file)})),
      outer_(std::exchange(held_back, held_back_.get())) {}

PluginRegistrations::~PluginRegistrations() { held_back = outer_; }

void PluginRegistrations::commit() {
  if (!held_back_->fault.empty()) throw std::invalid_argument(held_back_->fault);
  const std::lock_guard lock(registries().mutex);
  registries().tables.take(held_back_->tables, held_back_->file);
}

bool provide_names_by(ProvideName provide) {
  provide_name = provide;
  return true;
}

std::vector<Registered> all_registered() {
  RegistryTables tables;
  {
    const std::lock_guard lock(registries().mutex);
    tables = registries().tables;
  }
  std::vector<Registered> all;
  for (const auto& [name, entry] : tables.schedulers.entries()) {
    const std::string description =
        entry.description.empty() ? default_description(entry.code) : entry.description;
    all.push_back({Registered::Kind::scheduler, name, description, default_options(entry.code),
                   entry.plugin});
  }
  for (const auto& [name, entry] : tables.searchers.entries()) {
    all.push_back({Registered::Kind::searcher, name, entry.description, default_options(entry.code),
                   entry.plugin});
  }
  for (const auto& [name, entry] : tables.trainables.entries()) {
    all.push_back(
        {Registered::Kind::trainable, name, entry.description, Json::object(), entry.plugin});
  }
  return all;
}

}  // namespace engine

namespace detail {

std::string add_key(const std::type_info& type, TrainableSpec spec) {
  const std::lock_guard lock(keys().mutex);
  // Unnamed namespaces may give two types one name. The order is the same in every process.
  std::string key = "type:" + std::string(type.name());
  while (keys().specs.contains(key)) key += '+';
  spec.key = key;
  keys().specs.emplace(key, std::move(spec));
  return key;
}

TrainableSpec find_key(const std::string& key) {
  static const std::string by_name = "name:";
  if (key.starts_with(by_name)) return find_trainable(key.substr(by_name.size()));
  const std::lock_guard lock(keys().mutex);
  const auto found = keys().specs.find(key);
  if (found != keys().specs.end()) return found->second;
  throw std::invalid_argument("this program has no trainable of key " + core::value_text(key));
}

void refuse_options(const std::string& name, const Json& options) {
  const auto first = options.begin();
  throw std::invalid_argument(core::value_text(name) + " takes no options, got " +
                              core::value_text(first.key()) + ": " +
                              core::value_text(first.value()));
}

}  // namespace detail

}  // namespace tune
