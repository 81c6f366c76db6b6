#include "../../benchmarks/gpu/kernels_bench.cu"
