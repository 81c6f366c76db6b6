// The search of examples/fashion_mnist on GPUs: each trial trains on one, or several share one
// (--gpu 0.25). Where there is none, the same search runs on the CPU and says why.
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>

#include <boost/program_options.hpp>

#include <tune/trainables/mlp.hpp>
#include <tune/tune.hpp>
#ifdef TUNE_EXAMPLE_CUDA
#include <tune/trainables/cuda_mlp.hpp>
#endif

namespace po = boost::program_options;
using tune::trainables::Evaluation;
using tune::trainables::Mlp;

namespace {

struct Options {
  std::int64_t samples = 27;
  std::int64_t max_epochs = 9;
  double gpu = 1;
  std::uint64_t seed = 1;
  std::string storage;
  std::string name;
  std::string data{tune::trainables::fashion_mnist_folder};
};

std::optional<Options> parse(int argc, char** argv) {
  Options options;
  po::options_description known("options");
  auto add = known.add_options();
  add("samples", po::value(&options.samples)->default_value(27), "configurations to try");
  add("max-epochs", po::value(&options.max_epochs)->default_value(9),
      "epochs that the best of them are trained for");
  add("gpu", po::value(&options.gpu)->default_value(1),
      "of each trial: a fraction lets trials share a GPU");
  add("seed", po::value(&options.seed)->default_value(1), "seed of all that is drawn");
  add("storage", po::value(&options.storage), "folder for the results (default: ~/tune_results)");
  add("name", po::value(&options.name), "name of the experiment, a new folder there");
  add("data", po::value(&options.data)->default_value(options.data),
      "folder with the data set's files");
  add("help", "print this and leave");
  po::variables_map given;
  po::store(po::command_line_parser(argc, argv).options(known).positional({}).run(), given);
  po::notify(given);
  if (given.count("help") > 0) {
    std::cout << "Searches a small neural network for Fashion-MNIST on GPUs, under ASHA.\n\n"
              << known;
    return std::nullopt;
  }
  if (options.samples < 1 || options.max_epochs < 1) {
    throw std::invalid_argument("--samples and --max-epochs are whole numbers from 1");
  }
  if (!(options.gpu > 0)) throw std::invalid_argument("--gpu is above 0, such as 1 or 0.25");
  return options;
}

tune::Experiment experiment_of(const Options& options) {
  tune::SearchSpace space = {
      {"optimizer", tune::branch({{"adam", {{"lr", tune::loguniform(1e-4, 1e-2)}}},
                                  {"sgd",
                                   {{"lr", tune::loguniform(3e-3, 3e-1)},
                                    {"momentum", tune::choice({0.8, 0.9, 0.95})}}}})},
      {"hidden", tune::choice({256, 512, 1024, tune::Json::array({512, 256})})},
      {"batch_size", tune::choice({128, 256, 512})},
      {"dropout", tune::uniform(0.0, 0.5)},
  };
  if (options.data != tune::trainables::fashion_mnist_folder) space.add("data", options.data);
  return {
      .name = options.name,
      .storage_path = options.storage,
      .space = space,
      .metric = "val_accuracy",
      .mode = tune::Mode::max,
      .num_samples = options.samples,
      .scheduler = tune::asha({.max_t = static_cast<double>(options.max_epochs),
                               .grace_period = 1,
                               .reduction_factor = 3}),
      .checkpoint = {.every = 1, .keep = 1},
      .seed = options.seed,
  };
}

/// The network of the best trial on the test images: on the CPU, which takes a GPU's checkpoint.
int report(const tune::ResultGrid& results) {
  const tune::TrialResult& best = results.best(tune::Scope::last);
  if (!best.checkpoint) throw std::runtime_error(best.name + " has no checkpoint");
  Mlp mlp;
  mlp.setup(best.config);
  mlp.load_checkpoint(best.checkpoint->path);
  const Evaluation tested = mlp.evaluate_test();
  std::cout << "test accuracy   " << tested.accuracy << " of " << tested.images
            << " images, by the network of trial " << best.id << '\n';
  return results.errors().empty() ? EXIT_SUCCESS : EXIT_FAILURE;
}

int run(const Options& options) {
  tune::Experiment experiment = experiment_of(options);
  std::string reason = "this program was built without CUDA";
#ifdef TUNE_EXAMPLE_CUDA
  const tune::trainables::CudaDevices devices = tune::trainables::cuda_devices();
  if (devices.count > 0) {
    experiment.resources.gpu = options.gpu;
    experiment.local.gpus = devices.count;
    return report(tune::tune_run<tune::trainables::CudaMlp>(experiment));
  }
  reason = devices.reason;
#endif
  std::cout << "no GPU: " << reason << "; the same search on the CPU" << std::endl;
  return report(tune::tune_run<Mlp>(experiment));
}

}  // namespace

int main(int argc, char** argv) {
  tune::init(argc, argv);  // the trials run in worker processes, for which this program is started
  try {
    const std::optional<Options> options = parse(argc, argv);
    return options ? run(*options) : EXIT_SUCCESS;
  } catch (const po::error& error) {
    std::cerr << "fashion_mnist_gpu: " << error.what() << "\n--help lists the options\n";
    return 2;
  } catch (const std::invalid_argument& error) {
    std::cerr << "fashion_mnist_gpu: " << error.what() << "\n--help lists the options\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "fashion_mnist_gpu: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
