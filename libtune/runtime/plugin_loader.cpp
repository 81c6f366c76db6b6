#include "plugin_loader.hpp"

// Without it Boost.DLL needs the compiled library of Boost.Filesystem.
#define BOOST_DLL_USE_STD_FS

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include <boost/dll/shared_library.hpp>

#include <tune/plugin.hpp>
#include <tune/schedulers/builtin.hpp>
#include <tune/searchers/builtin.hpp>

#include "builtins.hpp"
#include "core/number_text.hpp"
#include "engine/registration.hpp"
#include "plugin_stamp.hpp"

namespace tune {

PluginError::~PluginError() = default;

namespace runtime {
namespace {

namespace fs = std::filesystem;

constexpr char path_variable[] = "TUNE_PLUGIN_PATH";

/// Loads plugins and keeps them.
class PluginLoader {
 public:
  Plugin load(const std::string& path_or_name);
  [[nodiscard]] std::vector<Plugin> plugins();

 private:
  Plugin load_file(const fs::path& given);
  [[nodiscard]] Plugin run(const fs::path& file);
  void refuse_second_of_name(const Plugin& plugin) const;

  // Held while code of a plugin runs: what it registers and what it is comes in one order. Again by
  // the same thread, where a plugin loads another.
  std::recursive_mutex loading_;
  std::set<fs::path> being_loaded_;
  std::map<fs::path, std::string> failed_;  // why, of those whose code has run
  // Never unloaded: objects, functions and messages of a plugin may be anywhere.
  std::deque<boost::dll::shared_library> libraries_;
  std::mutex mutex_;  // guards plugins_
  std::vector<Plugin> plugins_;
};

/// Never destroyed, since that would unload plugins while other statics may still use them.
PluginLoader& plugin_loader() {
  static auto& loader = *new PluginLoader;
  return loader;
}

bool is_path(const std::string& path_or_name) {
  return path_or_name.find('/') != std::string::npos || path_or_name.ends_with(".so");
}

std::string search_path() {
  const char* value = std::getenv(path_variable);
  return value == nullptr ? std::string() : value;
}

/// The file of a plugin in TUNE_PLUGIN_PATH.
std::optional<fs::path> find_by_name(const std::string& name) {
  std::istringstream folders(search_path());
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (folder.empty()) continue;
    for (const std::string& file : {"lib" + name + ".so", name + ".so"}) {
      std::error_code error;
      if (const fs::path path = fs::path(folder) / file; fs::exists(path, error)) return path;
    }
  }
  return std::nullopt;
}

/// Absolute and without symbolic links, so that one plugin is not taken for two.
fs::path canonical_file(const fs::path& given) {
  std::error_code error;
  const fs::path file = fs::canonical(given, error);
  if (error == std::errc::no_such_file_or_directory) {
    throw PluginError(fs::absolute(given), "there is no such file");
  }
  if (error) throw PluginError(fs::absolute(given), "cannot be found: " + error.message());
  if (!fs::is_regular_file(file, error)) throw PluginError(file, "is no file");
  return file;
}

/// What the system says of a library that it did not load, without the file's name.
std::string load_fault(const fs::path& file) {
  const char* text = ::dlerror();  // Boost's own text ends in an unrelated error
  std::string fault = text == nullptr ? "cannot be loaded" : text;
  const std::string prefix = file.string() + ": ";
  return fault.starts_with(prefix) ? fault.substr(prefix.size()) : fault;
}

boost::dll::shared_library open_library(const fs::path& file) {
  namespace dll = boost::dll;
  boost::dll::fs::error_code error;
  dll::shared_library library;
  library.load(file, error, dll::load_mode::rtld_now | dll::load_mode::rtld_local);
  if (error) throw PluginError(file, "cannot be loaded: " + load_fault(file));
  return library;
}

const detail::PluginEntry& entry_of(const boost::dll::shared_library& library,
                                    const fs::path& file) {
  if (!library.has(detail::plugin_function)) {
    throw PluginError(file, std::string("exports no function ") + detail::plugin_function +
                                ", which TUNE_PLUGIN makes: is it hidden by a version script?");
  }
  return *library.get<const detail::PluginEntry*()>(detail::plugin_function)();
}

std::string describe_thrown() {
  try {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "what is no std::exception";
  }
}

Plugin PluginLoader::load(const std::string& path_or_name) {
  register_builtins();  // so that a plugin that takes one of their names is told so
  if (is_path(path_or_name)) return load_file(path_or_name);
  const std::optional<fs::path> file = find_by_name(path_or_name);
  if (file) return load_file(*file);
  const std::string path = search_path();
  throw PluginError(
      path_or_name,
      "there is no lib" + path_or_name + ".so or " + path_or_name + ".so in " + path_variable +
          (path.empty() ? ", which is not set" : ", which is " + core::value_text(path)));
}

Plugin PluginLoader::load_file(const fs::path& given) {
  const std::lock_guard loading(loading_);
  const auto is_loaded = [&](const fs::path& file) -> const Plugin* {
    const auto found = std::find_if(plugins_.begin(), plugins_.end(),
                                    [&](const Plugin& plugin) { return plugin.file == file; });
    return found == plugins_.end() ? nullptr : &*found;
  };
  // Before the disk is looked at: what is loaded needs its file no more.
  if (const Plugin* plugin = is_loaded(given)) return *plugin;
  const fs::path file = canonical_file(given);
  if (const Plugin* plugin = is_loaded(file)) return *plugin;
  if (const auto failure = failed_.find(file); failure != failed_.end()) {
    throw PluginError(file, failure->second);
  }
  if (const auto reason = refuse_plugin_file(file)) throw PluginError(file, *reason);
  if (!being_loaded_.insert(file).second)
    throw PluginError(file, "is being loaded: it asks for itself");
  try {
    Plugin plugin = run(file);
    being_loaded_.erase(file);
    const std::lock_guard lock(mutex_);
    plugins_.push_back(plugin);
    return plugin;
  } catch (const PluginError& error) {
    being_loaded_.erase(file);
    throw;
  }
}

/// From here on code of the plugin runs: the initialisation of its statics, first of all.
Plugin PluginLoader::run(const fs::path& file) {
  engine::PluginRegistrations registrations(file.string());
  libraries_.push_back(open_library(file));
  try {
    const detail::PluginEntry& entry = entry_of(libraries_.back(), file);
    const Plugin plugin{entry.name, entry.description, file};
    refuse_second_of_name(plugin);
    try {
      entry.register_all();
    } catch (...) {
      throw PluginError(file, "threw while it registered: " + describe_thrown());
    }
    try {
      registrations.commit();
    } catch (const std::invalid_argument& error) {
      throw PluginError(file, error.what());
    }
    return plugin;
  } catch (const PluginError& error) {
    failed_.emplace(file, error.reason());
    throw;
  }
}

void PluginLoader::refuse_second_of_name(const Plugin& plugin) const {
  for (const Plugin& other : plugins_) {
    if (other.name != plugin.name) continue;
    throw PluginError(plugin.file, "a plugin of its name, " + core::value_text(plugin.name) +
                                       ", is loaded already: " + other.file.string());
  }
}

std::vector<Plugin> PluginLoader::plugins() {
  const std::lock_guard lock(mutex_);
  return plugins_;
}

bool can_name_a_plugin(const std::string& name) {
  return !name.empty() && name.front() != '.' && !is_path(name);
}

/// For a name that nobody has registered: tune's own first, then a plugin that is called so.
std::string provide_name(const std::string& name, const std::function<bool()>& is_known) {
  register_builtins();
  if (is_known() || search_path().empty() || !can_name_a_plugin(name)) return {};
  const std::optional<fs::path> file = find_by_name(name);
  if (!file) return std::string("; ") + path_variable + " has no plugin of that name";
  const Plugin plugin = plugin_loader().load(file->string());
  return "; the plugin " + plugin.file.string() + " does not have it either";
}

[[maybe_unused]] const bool provides_names = engine::provide_names_by(provide_name);

}  // namespace

void register_builtins() {
  register_builtin_schedulers();
  register_builtin_searchers();
}

void load_plugins(const std::vector<std::string>& paths_or_names) {
  for (const std::string& path_or_name : paths_or_names) load_plugin(path_or_name);
}

std::vector<std::string> plugin_files() {
  std::vector<std::string> files;
  for (const Plugin& plugin : loaded_plugins()) files.push_back(plugin.file.string());
  return files;
}

}  // namespace runtime

Plugin load_plugin(const std::string& path_or_name) {
  return runtime::plugin_loader().load(path_or_name);
}

std::vector<Plugin> loaded_plugins() { return runtime::plugin_loader().plugins(); }

std::vector<Registered> registered() {
  runtime::register_builtins();
  return engine::all_registered();
}

}  // namespace tune
