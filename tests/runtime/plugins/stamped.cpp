// A library whose plugin stamp is made by hand, with something in it that is not as it should be.
#include <cstring>

#include <tune/plugin.hpp>

#include "loaded_mark.hpp"

namespace {

constexpr void set_text(char* to, const char* text) {
  while ((*to++ = *text++) != '\0') {
  }
}

constexpr tune::detail::PluginStamp make_stamp() {
  tune::detail::PluginStamp stamp;
#ifdef ABI
  stamp.abi = ABI;
#endif
#ifdef SIZE
  stamp.size = SIZE;
#endif
#ifdef MAGIC
  set_text(stamp.magic, MAGIC);
#endif
#ifdef COMPILER
  set_text(stamp.compiler, COMPILER);
#endif
#ifdef LIBRARY
  set_text(stamp.standard_library, LIBRARY);
#endif
#ifdef JSON
  set_text(stamp.json, JSON);
#endif
  return stamp;
}

__attribute__((section(".tune_plugin"), used)) constexpr tune::detail::PluginStamp stamp =
    make_stamp();

}  // namespace

#ifndef NO_FUNCTION
extern "C" __attribute__((visibility("default"))) const tune::detail::PluginEntry* tune_plugin() {
  static const tune::detail::PluginEntry entry{&stamp, "stamped", "", [] {}};
  return &entry;
}
#endif
