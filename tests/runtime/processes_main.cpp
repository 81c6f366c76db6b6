#include <tune/init.hpp>

#include "search_of_its_own.hpp"
#include "support/catch_main.hpp"

int main(int argc, char** argv) {
  tune::init(argc, argv);
  if (const auto code = tune::test::serve_as_search(argc, argv)) return *code;
  return tune::test::run_catch(argc, argv);
}
