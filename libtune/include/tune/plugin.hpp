#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <tune/json.hpp>
#include <tune/registry.hpp>

namespace tune {

/// A plugin that was refused, or that failed. The text names the file and the reason.
class PluginError : public std::invalid_argument {
 public:
  PluginError(std::filesystem::path file, const std::string& reason)
      : std::invalid_argument("plugin " + file.string() + ": " + reason),
        file_(std::move(file)),
        reason_(reason) {}
  ~PluginError() override;
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  std::filesystem::path file_;
  std::string reason_;
};

/// A plugin that is loaded.
struct Plugin {
  std::string name = {};  ///< As TUNE_PLUGIN has it.
  std::string description = {};
  std::filesystem::path file = {};  ///< Absolute, without symbolic links.
};

/// Loads a plugin: what it registers can then be made by name, in the worker processes of later
/// runs, too. It stays loaded until the process ends. Loading it again changes nothing; one that
/// failed once its code had run fails in the same way again.
///
/// `path_or_name`: a path if it has a `/` in it or ends in `.so`. Else a name: `lib<name>.so` or
/// `<name>.so` in the first folder of the environment's TUNE_PLUGIN_PATH (divided by `:`) that has
/// one. Safe from several threads.
/// @throws PluginError. Nothing of the plugin is registered then; and if it is no plugin, or was
/// built for another ABI, nothing of it has run.
Plugin load_plugin(const std::string& path_or_name);

/// In the order in which they were loaded.
[[nodiscard]] std::vector<Plugin> loaded_plugins();

/// Goes up with each change of what plugins see of tune: the classes and functions of <tune/...>.
inline constexpr std::uint32_t plugin_abi = 2;

namespace detail {

#define TUNE_DETAIL_TEXT2(x) #x
#define TUNE_DETAIL_TEXT(x) TUNE_DETAIL_TEXT2(x)

#if defined(__clang__)
#define TUNE_DETAIL_COMPILER "clang " TUNE_DETAIL_TEXT(__clang_major__)
#elif defined(__GNUC__)
#define TUNE_DETAIL_COMPILER "gcc " TUNE_DETAIL_TEXT(__GNUC__)
#else
#define TUNE_DETAIL_COMPILER "another compiler"
#endif

#if defined(_LIBCPP_VERSION)
#define TUNE_DETAIL_LIBRARY "libc++ " TUNE_DETAIL_TEXT(_LIBCPP_VERSION)
#elif defined(_GLIBCXX_DEBUG)
#define TUNE_DETAIL_LIBRARY "libstdc++ " TUNE_DETAIL_TEXT(_GLIBCXX_RELEASE) ", debug mode"
#elif defined(__GLIBCXX__) && !_GLIBCXX_USE_CXX11_ABI
#define TUNE_DETAIL_LIBRARY "libstdc++ " TUNE_DETAIL_TEXT(_GLIBCXX_RELEASE) ", old strings"
#elif defined(__GLIBCXX__)
#define TUNE_DETAIL_LIBRARY "libstdc++ " TUNE_DETAIL_TEXT(_GLIBCXX_RELEASE)
#else
#define TUNE_DETAIL_LIBRARY "another standard library"
#endif

#define TUNE_DETAIL_JSON                                                               \
  "nlohmann_json " TUNE_DETAIL_TEXT(NLOHMANN_JSON_VERSION_MAJOR) "." TUNE_DETAIL_TEXT( \
      NLOHMANN_JSON_VERSION_MINOR) "." TUNE_DETAIL_TEXT(NLOHMANN_JSON_VERSION_PATCH)

/// What a plugin was built with. It lies in a section of the file by itself and is read there,
/// before the file is loaded: loading alone would run code of it. `magic`, `size` and `abi` stay
/// where they are for ever.
struct PluginStamp {
  char magic[16] = "tune plugin";
  std::uint32_t size = sizeof(PluginStamp);
  std::uint32_t abi = plugin_abi;
  char compiler[40] = TUNE_DETAIL_COMPILER;
  char standard_library[40] = TUNE_DETAIL_LIBRARY;
  char json[40] = TUNE_DETAIL_JSON;
};

/// What the one function that a plugin exports returns.
struct PluginEntry {
  const PluginStamp* stamp;
  const char* name;
  const char* description;
  void (*register_all)();
};

inline constexpr char plugin_section[] = ".tune_plugin";
inline constexpr char plugin_function[] = "tune_plugin";

}  // namespace detail
}  // namespace tune

/// Makes a shared library a plugin. It stands in one source of it, outside any namespace, and is
/// followed by the body of a function that registers what there is:
///
///     TUNE_PLUGIN("curves", "schedulers for noisy curves") {
///       TUNE_REGISTER_SCHEDULER("patient", Patient, "stops after a while without a new best")
///     }
///
/// The TUNE_REGISTER_... macros may also stand beside their classes, as in a program. What the body
/// throws is the reason of a PluginError.
#define TUNE_PLUGIN(name, description)                                                    \
  static void tune_plugin_register();                                                     \
  __attribute__((section(".tune_plugin"),                                                 \
                 used)) static const ::tune::detail::PluginStamp tune_plugin_stamp{};     \
  extern "C" __attribute__((visibility("default"))) const ::tune::detail::PluginEntry*    \
  tune_plugin() {                                                                         \
    static const ::tune::detail::PluginEntry entry{&tune_plugin_stamp, name, description, \
                                                   &tune_plugin_register};                \
    return &entry;                                                                        \
  }                                                                                       \
  static void tune_plugin_register()
