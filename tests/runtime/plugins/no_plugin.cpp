// A shared library that is no plugin; or one that cannot be loaded.
#include "loaded_mark.hpp"

#ifdef UNRESOLVED
#include <tune/plugin.hpp>

int a_function_that_nobody_has();

TUNE_PLUGIN("unresolved", "calls what is not there") { a_function_that_nobody_has(); }
#endif
