#include "runtime/gpu_probe.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "runtime/grant_environment.hpp"
#include "support/fake_gpus.hpp"

namespace tune::runtime {
namespace {

using Catch::Contains;
using Variables = std::vector<std::string>;

std::vector<std::string> uuids(const GpuFindings& findings) {
  std::vector<std::string> list;
  for (const Gpu& gpu : findings.gpus) list.push_back(gpu.uuid);
  return list;
}

GpuFindings find_with(const Variables& environment) { return GpuLibrary().find(environment); }

TEST_CASE("gpu_probe: all GPUs are found, in the driver's order", "[gpu_probe]") {
  const test::FakeGpus fake("gpu GPU-b 81920 NVIDIA H100\ngpu GPU-a 40960 NVIDIA A100\n");
  const GpuFindings findings = find_with({});
  CHECK(uuids(findings) == Variables{"GPU-b", "GPU-a"});
  CHECK(findings.gpus[0].name == "NVIDIA H100");
  CHECK(findings.gpus[0].memory == std::uint64_t{81920} << 20);
  CHECK(findings.notes.empty());
  CHECK(findings.describe() ==
        "gpu 0: NVIDIA H100, 81920 MiB, GPU-b\ngpu 1: NVIDIA A100, 40960 MiB, GPU-a\n");
}

TEST_CASE("gpu_probe: CUDA_VISIBLE_DEVICES chooses and orders", "[gpu_probe]") {
  const test::FakeGpus fake("gpu GPU-aa 1 A\ngpu GPU-ab 1 A\ngpu GPU-c 1 A\n");
  CHECK(uuids(find_with({"CUDA_VISIBLE_DEVICES=2,0"})) == Variables{"GPU-c", "GPU-aa"});
  CHECK(uuids(find_with({"CUDA_VISIBLE_DEVICES=GPU-c,GPU-ab"})) == Variables{"GPU-c", "GPU-ab"});
  CHECK(uuids(find_with({"CUDA_VISIBLE_DEVICES="})).empty());
  CHECK(uuids(find_with({"CUDA_VISIBLE_DEVICES=-1"})).empty());
  const GpuFindings cut = find_with({"CUDA_VISIBLE_DEVICES=1,7,0"});
  CHECK(uuids(cut) == Variables{"GPU-ab"});
  CHECK_THAT(cut.describe(), Contains("CUDA_VISIBLE_DEVICES names 7, which is none of the GPUs "
                                      "here; that hides what it names after it"));
}

TEST_CASE("gpu_probe: the instances of a divided GPU stand for it", "[gpu_probe]") {
  const test::FakeGpus fake(
      "gpu GPU-a 80 A\nmig\ninstance MIG-1 10 A 1g\ninstance MIG-2 20 A 2g\n"
      "gpu GPU-b 80 A\nmig\ngpu GPU-c 80 A\n");
  const GpuFindings findings = find_with({});
  CHECK(uuids(findings) == Variables{"MIG-1", "MIG-2", "GPU-c"});
  CHECK(findings.gpus[1].memory == std::uint64_t{20} << 20);
  CHECK_THAT(findings.describe(), Contains("NVML's GPU 1: A is in MIG mode and has no instance\n"));
  CHECK(uuids(find_with({"CUDA_VISIBLE_DEVICES=MIG-2,GPU-c"})) == Variables{"MIG-2", "GPU-c"});
}

TEST_CASE("gpu_probe: one that is broken is left out, and the reason is said", "[gpu_probe]") {
  const test::FakeGpus fake(
      "gpu GPU-a 80 A\nbroken 15\ngpu GPU-b 80 A\ngpu GPU-c 80 A\nnameless 3\n");
  const GpuFindings findings = find_with({});
  CHECK(uuids(findings) == Variables{"GPU-b"});
  CHECK_THAT(findings.describe(), Contains("NVML's GPU 0: GPU is lost (15)\n") &&
                                      Contains("NVML's GPU 2: no UUID: Not Supported (3)\n"));
}

TEST_CASE("gpu_probe: without a driver there are none, and the reason is said", "[gpu_probe]") {
  {
    const test::FakeGpus fake("init 9\n");
    CHECK_THAT(find_with({}).describe(),
               Catch::Equals("no GPU\nNVML does not start: Driver Not Loaded (9)\n"));
  }
  const test::FakeGpus none = test::FakeGpus::without_library();
  CHECK_THAT(find_with({}).describe(),
             Contains("no GPU\nno NVIDIA driver: ") && Contains("no_such_library"));
  CHECK(with_named_gpus({"A=1"}, {}) == Variables{"A=1"});
}

TEST_CASE("gpu_probe: grants name GPUs by their UUIDs", "[gpu_probe]") {
  const Variables named =
      with_named_gpus({"X=1", "CUDA_VISIBLE_DEVICES=2,1"}, Variables{"GPU-c", "GPU-b"});
  CHECK(named == Variables{"X=1", "CUDA_VISIBLE_DEVICES=GPU-c,GPU-b"});
  const ResourceGrant grant{.amounts = ResourceAmounts(Resources{.gpu = 1}), .gpu_ids = {1}};
  CHECK(environment_value(grant_environment(grant, named), "CUDA_VISIBLE_DEVICES") == "GPU-b");
}

TEST_CASE("gpu_probe: who computes on a GPU", "[gpu_probe]") {
  std::string text = "gpu GPU-a 1 A\nmig\ninstance MIG-0 1 A\ninstance MIG-1 1 A\n";
  for (int i = 0; i < 100; ++i) text += "process " + std::to_string(1000 + i) + " 5\n";
  text += "gpu GPU-b 1 A\n";
  const test::FakeGpus fake(text);
  const GpuLibrary library;
  const auto processes = library.processes("MIG-1");
  REQUIRE(processes.has_value());
  REQUIRE(processes->size() == 100);
  CHECK(processes->back().pid == 1099);
  CHECK(processes->back().memory == std::uint64_t{5} << 20);
  CHECK(library.processes("MIG-0")->empty());
  CHECK_FALSE(library.processes("GPU-a").has_value());  // the driver does not say
  CHECK(library.processes("GPU-b")->empty());
  CHECK_FALSE(library.processes("GPU-z").has_value());
}

}  // namespace
}  // namespace tune::runtime
