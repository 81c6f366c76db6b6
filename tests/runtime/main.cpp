#include <tune/init.hpp>

#include "support/catch_main.hpp"

int main(int argc, char** argv) {
  tune::init(argc, argv);
  return tune::test::run_catch(argc, argv);
}
