// Who trains on GPUs has one library more, and needs no CUDA to build.

#include <iostream>

#include <tune/trainables/cuda_mlp.hpp>
#include <tune/tune.hpp>

int main(int argc, char** argv) {
  tune::init(argc, argv);
  const tune::trainables::CudaDevices devices = tune::trainables::cuda_devices();
  const tune::trainables::CudaMlp network;
  std::cout << devices.count << " GPUs " << devices.reason << '\n';
  return (devices.count > 0) == devices.reason.empty() ? 0 : 1;
}
