#include "support/catch_main.hpp"

int main(int argc, char** argv) { return tune::test::run_catch(argc, argv); }
