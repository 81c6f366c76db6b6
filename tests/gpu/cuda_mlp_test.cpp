#include <tune/trainables/cuda_mlp.hpp>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include "support/skip.hpp"
#include "support/temporary_folder.hpp"

namespace tune::trainables {
namespace {

/// Where a machine without the package has the images.
std::string image_folder() {
  const char* const given = std::getenv("TUNE_FASHION_MNIST");
  return given == nullptr ? std::string(fashion_mnist_folder) : given;
}

bool has_images() { return std::filesystem::exists(image_folder()); }

TrialContext context_of_trial(double gpu = 1) {
  TrialContext context;
  context.trial_name = "00003";
  context.seed = 11;
  context.resources.amounts.set("gpu", static_cast<std::int64_t>(gpu * 1000));
  if (gpu > 0) context.resources.gpu_ids = {0};
  return context;
}

Config config_of(Json json) {
  json["data"] = image_folder();
  return Config(std::move(json));
}

const Config small = config_of(
    {{"hidden", {32}}, {"optimizer", "adam"}, {"dropout", 0.2}, {"validation_images", 2000}});

TEST_CASE("gpu: without one the reason is said", "[gpu]") {
  const CudaDevices devices = cuda_devices();
  CHECK(devices.reason.empty() == (devices.count > 0));
  if (devices.count > 0) return;
  if (!has_images()) return test::skip_test("package dataset-fashion-mnist is not installed");
  CudaMlp mlp;
  mlp.set_context(context_of_trial());
  CHECK_THROWS_WITH(mlp.setup(small), Catch::Equals("cuda: " + devices.reason));
}

TEST_CASE("gpu: a trial without a grant is told to ask for one", "[gpu]") {
  CudaMlp mlp;
  mlp.set_context(context_of_trial(0));
  CHECK_THROWS_WITH(mlp.setup(small), Catch::Contains("trial 00003 was granted no GPU") &&
                                          Catch::Contains("Experiment::resources.gpu"));
}

TEST_CASE("gpu: trains as on the CPU", "[gpu]") {
  if (const CudaDevices devices = cuda_devices(); devices.count == 0) {
    return test::skip_test(devices.reason);
  }
  if (!has_images()) return test::skip_test("package dataset-fashion-mnist is not installed");
  for (const std::string optimizer : {"adam", "sgd"}) {
    INFO(optimizer);
    const Config config = config_of({{"hidden", {32, 20}},
                                     {"optimizer", optimizer},
                                     {"lr", optimizer == "adam" ? 0.001 : 0.02},
                                     {"dropout", 0.2},
                                     {"batch_size", 300}});
    Mlp on_cpu;
    CudaMlp on_gpu;
    on_cpu.set_context(context_of_trial());
    on_gpu.set_context(context_of_trial());
    on_cpu.setup(config);
    on_gpu.setup(config);
    for (int epoch = 0; epoch < 2; ++epoch) {
      const Metrics wanted = on_cpu.step();
      const Metrics found = on_gpu.step();
      // Rounding alone: a few hundred steps magnify it.
      CHECK(found.at("train_loss").as_double() ==
            Approx(wanted.at("train_loss").as_double()).epsilon(2e-3));
      CHECK(found.at("val_loss").as_double() ==
            Approx(wanted.at("val_loss").as_double()).epsilon(5e-3));
      CHECK(found.at("val_accuracy").as_double() ==
            Approx(wanted.at("val_accuracy").as_double()).margin(0.01));
    }
  }
}

TEST_CASE("gpu: checkpoints go from one to the other and back", "[gpu]") {
  if (const CudaDevices devices = cuda_devices(); devices.count == 0) {
    return test::skip_test(devices.reason);
  }
  if (!has_images()) return test::skip_test("package dataset-fashion-mnist is not installed");
  const test::TemporaryFolder folder;
  CudaMlp first;
  first.set_context(context_of_trial());
  first.setup(small);
  (void)first.step();
  first.save_checkpoint(folder.path());

  Mlp on_cpu;
  on_cpu.set_context(context_of_trial());
  on_cpu.setup(small);
  on_cpu.load_checkpoint(folder.path());
  const Metrics wanted = on_cpu.step();

  CudaMlp second;
  second.set_context(context_of_trial());
  second.setup(small);
  second.load_checkpoint(folder.path());
  const Metrics resumed = second.step();
  const Metrics uninterrupted = first.step();
  // The same device, the same bits.
  CHECK(resumed.at("train_loss").as_double() == uninterrupted.at("train_loss").as_double());
  CHECK(resumed.at("val_loss").as_double() == uninterrupted.at("val_loss").as_double());
  CHECK(resumed.at("val_loss").as_double() ==
        Approx(wanted.at("val_loss").as_double()).epsilon(5e-3));

  on_cpu.save_checkpoint(folder.path());
  CudaMlp third;
  third.set_context(context_of_trial());
  third.setup(small);
  CHECK_NOTHROW(third.load_checkpoint(folder.path()));
  CHECK(third.evaluate_test().accuracy == Approx(on_cpu.evaluate_test().accuracy).margin(1e-3));
}

}  // namespace
}  // namespace tune::trainables
