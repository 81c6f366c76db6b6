#include "runtime/grant_environment.hpp"

#include <cstdlib>
#include <stdexcept>

#include <catch2/catch.hpp>

namespace tune::runtime {
namespace {

using Catch::Contains;
using Variables = std::vector<std::string>;

ResourceGrant grant_of(double cpu, std::vector<int> gpu_ids = {}) {
  const auto gpus = static_cast<double>(gpu_ids.size());
  return {.amounts = ResourceAmounts(Resources{.cpu = cpu, .gpu = gpus}),
          .gpu_ids = std::move(gpu_ids)};
}

std::string value_for(const ResourceGrant& grant, const Variables& program,
                      const std::string& name) {
  return environment_value(grant_environment(grant, program), name).value_or("not set");
}

TEST_CASE("thread counts are the whole cores of the grant, at least 1", "[grant_environment]") {
  for (const std::string name :
       {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
        "NUMEXPR_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "RAYON_NUM_THREADS"}) {
    INFO(name);
    CHECK(value_for(grant_of(4), {}, name) == "4");
    CHECK(value_for(grant_of(2.999), {}, name) == "2");
    CHECK(value_for(grant_of(0.5), {}, name) == "1");
    CHECK(value_for(grant_of(0), {}, name) == "1");
  }
}

TEST_CASE("a thread count that the user set stays", "[grant_environment]") {
  const Variables mkl = {"PATH=/bin", "MKL_NUM_THREADS=3"};
  CHECK(value_for(grant_of(4), mkl, "MKL_NUM_THREADS") == "not set");
  CHECK(value_for(grant_of(4), mkl, "OPENBLAS_NUM_THREADS") == "4");
  CHECK(value_for(grant_of(4), mkl, "OMP_NUM_THREADS") == "4");

  // MKL would take its own variable over OpenMP's, which the user meant for it too.
  const Variables openmp = {"OMP_NUM_THREADS=2"};
  CHECK(value_for(grant_of(4), openmp, "OMP_NUM_THREADS") == "not set");
  CHECK(value_for(grant_of(4), openmp, "MKL_NUM_THREADS") == "not set");
  CHECK(value_for(grant_of(4), openmp, "RAYON_NUM_THREADS") == "4");
}

TEST_CASE("the visible devices are those of the grant", "[grant_environment]") {
  CHECK(value_for(grant_of(1, {0}), {}, "CUDA_VISIBLE_DEVICES") == "0");
  CHECK(value_for(grant_of(1, {1, 3}), {}, "CUDA_VISIBLE_DEVICES") == "1,3");
  CHECK(value_for(grant_of(1), {}, "CUDA_VISIBLE_DEVICES").empty());
}

TEST_CASE("device ids count within the list that the program was given", "[grant_environment]") {
  const Variables numbers = {"CUDA_VISIBLE_DEVICES=5, 2,7"};
  CHECK(value_for(grant_of(1, {0, 2}), numbers, "CUDA_VISIBLE_DEVICES") == "5,7");
  CHECK(value_for(grant_of(1, {1}), numbers, "CUDA_VISIBLE_DEVICES") == "2");
  CHECK(value_for(grant_of(1), numbers, "CUDA_VISIBLE_DEVICES").empty());
  const Variables uuids = {"CUDA_VISIBLE_DEVICES=GPU-8932f937,MIG-GPU-1/1/0"};
  CHECK(value_for(grant_of(1, {1}), uuids, "CUDA_VISIBLE_DEVICES") == "MIG-GPU-1/1/0");
}

TEST_CASE("a device that the program's list does not have is refused", "[grant_environment]") {
  CHECK_THROWS_WITH(grant_environment(grant_of(1, {2}), Variables{"CUDA_VISIBLE_DEVICES=4,5"}),
                    Contains("gpu 2") && Contains("lists 2 devices"));
  CHECK_THROWS_AS(grant_environment(grant_of(1, {0}), Variables{"CUDA_VISIBLE_DEVICES="}),
                  std::invalid_argument);
}

TEST_CASE("the program's list ends where CUDA stops reading it", "[grant_environment]") {
  using Devices = std::vector<std::string>;
  CHECK_FALSE(visible_devices(Variables{"CUDA_VISIBLE_DEVICE=1"}));
  CHECK(visible_devices(Variables{"CUDA_VISIBLE_DEVICES="}) == Devices{});
  CHECK(visible_devices(Variables{"CUDA_VISIBLE_DEVICES=1,-1,2"}) == Devices{"1"});
  CHECK(visible_devices(Variables{"CUDA_VISIBLE_DEVICES=1,,2"}) == Devices{"1"});
  CHECK(visible_devices(Variables{"CUDA_VISIBLE_DEVICES=-1"}) == Devices{});
}

TEST_CASE("merging replaces by name", "[grant_environment]") {
  const Variables program = {"A=1", "AB=2", "C=x=y"};
  CHECK(merged_environment(program, Variables{"A=9", "D="}) ==
        Variables{"AB=2", "C=x=y", "A=9", "D="});
  CHECK(merged_environment(program, Variables{}) == program);
}

TEST_CASE("the program's own environment is seen", "[grant_environment]") {
  REQUIRE(::setenv("TUNE_GRANT_TEST", "a=b", 1) == 0);
  CHECK(environment_value(program_environment(), "TUNE_GRANT_TEST") == "a=b");
  REQUIRE(::unsetenv("TUNE_GRANT_TEST") == 0);
  CHECK_FALSE(environment_value(program_environment(), "TUNE_GRANT_TEST"));
}

}  // namespace
}  // namespace tune::runtime
