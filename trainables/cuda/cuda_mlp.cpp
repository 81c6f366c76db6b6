#include <tune/trainables/cuda_mlp.hpp>

#include <cstddef>
#include <map>
#include <mutex>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include <tune/random.hpp>

#include "trainables/cuda/cuda_device.hpp"
#include "trainables/mlp/checkpoint_file.hpp"
#include "trainables/mlp/device_trainer.hpp"
#include "trainables/mlp/network.hpp"
#include "trainables/mlp/task.hpp"

namespace tune::trainables {
namespace {

/// The images on the device, copied once for all trials of this process that are alive.
std::shared_ptr<const DeviceImages> shared_device_images(
    int ordinal, const std::shared_ptr<const ImageSet>& images) {
  static std::mutex mutex;
  static std::map<std::pair<int, const ImageSet*>,
                  std::pair<std::weak_ptr<const ImageSet>, std::weak_ptr<const DeviceImages>>>
      known;
  const std::scoped_lock lock(mutex);
  auto& [source, copy] = known[{ordinal, images.get()}];
  // Another set may have come to lie where a former one did.
  if (source.lock() == images) {
    if (std::shared_ptr<const DeviceImages> alive = copy.lock()) return alive;
  }
  auto made = std::make_shared<const DeviceImages>(make_cuda_device(ordinal), *images);
  source = images;
  copy = made;
  return made;
}

/// The first that was granted. A worker process sees its own GPUs alone, which count from 0; the
/// threads of a program see all that the program does.
int granted_ordinal(const ResourceGrant& granted) {
  const CudaDevices devices = cuda_devices();
  if (devices.count == 0) throw std::runtime_error("cuda: " + devices.reason);
  if (granted.gpu_ids.empty()) return 0;
  const bool sees_all = std::cmp_greater(devices.count, granted.gpu_ids.size());
  return sees_all ? granted.gpu_ids.front() : 0;
}

std::string name_of(const OptimizerOptions& options) {
  return std::holds_alternative<SgdOptions>(options) ? "sgd" : "adam";
}

}  // namespace

struct CudaMlp::Model {
  MlpTask task;
  std::int64_t epochs = 0;
  int ordinal = 0;
  std::shared_ptr<Device> device;
  std::shared_ptr<const DeviceImages> images;
  DeviceTrainer trainer;

  Model(const Config& config, const TrialContext& context)
      : task(config, context.seed),
        ordinal(granted_ordinal(context.resources)),
        device(make_cuda_device(ordinal)),
        images(shared_device_images(ordinal, task.images)),
        trainer(device, {.sizes = task.sizes(),
                         .dropout = task.options.dropout,
                         .batch_size = static_cast<std::size_t>(task.options.batch_size),
                         .optimizer = task.options.optimizer}) {
    const std::vector<std::int64_t> sizes = task.sizes();
    Network<float> network({sizes.begin(), sizes.end()});
    network.initialise(Random(task.seed, "mlp/weights"));
    trainer.set_parameters(network.parameters());
  }

  double train_epoch() {
    const std::vector<std::uint32_t> order = task.order(epochs);
    std::vector<std::uint64_t> keys;
    const auto batch_size = static_cast<std::size_t>(task.options.batch_size);
    for (std::size_t first = 0; first < order.size(); first += batch_size) {
      keys.push_back(task.dropout_key(epochs, first));
    }
    const double loss = trainer.train_epoch(*images, order, keys);
    ++epochs;
    return loss;
  }
};

CudaMlp::CudaMlp() = default;
CudaMlp::~CudaMlp() = default;

void CudaMlp::setup(const Config& config) {
  model_.reset();  // the former's memory is free before this one's is asked for
  if (context().resources.gpu() == 0 && !context().trial_name.empty()) {
    throw std::runtime_error("cuda: trial " + context().trial_name +
                             " was granted no GPU; ask for one by Experiment::resources.gpu");
  }
  model_ = std::make_unique<Model>(config, context());
}

Metrics CudaMlp::step() {
  const double train_loss = model_->train_epoch();
  const Evaluation validation = model_->trainer.evaluate(
      *model_->images, model_->task.training_images(), model_->task.images->size());
  return {{"train_loss", train_loss},
          {"val_loss", validation.loss},
          {"val_accuracy", validation.accuracy}};
}

void CudaMlp::save_checkpoint(const std::filesystem::path& dir) {
  write_checkpoint_file(dir / mlp_checkpoint_name,
                        {.sizes = model_->task.sizes(),
                         .optimizer = name_of(model_->task.options.optimizer),
                         .epochs = model_->epochs,
                         .optimizer_steps = model_->trainer.optimizer_steps(),
                         .parameters = model_->trainer.parameters(),
                         .optimizer_state = model_->trainer.optimizer_state()});
}

void CudaMlp::load_checkpoint(const std::filesystem::path& dir) {
  const std::string optimizer = name_of(model_->task.options.optimizer);
  const MlpState state = read_matching_checkpoint(
      dir / mlp_checkpoint_name, {.sizes = model_->task.sizes(),
                                  .optimizer = optimizer,
                                  .parameters = model_->trainer.parameter_count(),
                                  .optimizer_arrays = optimizer == "adam" ? 2U : 1U});
  model_->trainer.set_parameters(state.parameters);
  model_->trainer.set_optimizer_state(state.optimizer_state, state.optimizer_steps);
  model_->epochs = state.epochs;
}

bool CudaMlp::reset_config(const Config& config) {
  setup(config);  // builds everything anew; the context and the images stay
  return true;
}

void CudaMlp::cleanup() { model_.reset(); }

Evaluation CudaMlp::evaluate_test() {
  const std::shared_ptr<const ImageSet> test = model_->task.test_images();
  return model_->trainer.evaluate(*shared_device_images(model_->ordinal, test), 0, test->size());
}

std::string CudaMlp::device() const { return model_->device->describe(); }

}  // namespace tune::trainables
