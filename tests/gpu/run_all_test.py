#!/usr/bin/env python3
"""run_all_test.py RUN_ALL GPU_TEST GPU_BENCH FASHION_MNIST_GPU: benchmarks/gpu/run_all from start to end,
with programs for a GPU that is played on the CPU, in a folder as benchmarks/gpu/pack makes it, on a tenth
of the images."""

import gzip
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

IMAGES = Path(os.environ.get("TUNE_FASHION_MNIST", "/usr/share/datasets/fashion-mnist"))
PROGRAMS = ["gpu_test", "gpu_bench", "fashion_mnist_gpu"]


def cut(name, count, header_bytes, item_bytes, target):
    """The first `count` items of an IDX file, whose number stands in its second four bytes."""
    data = gzip.decompress((IMAGES / name).read_bytes())
    end = header_bytes + count * item_bytes
    short = data[:4] + struct.pack(">i", count) + data[8:end]
    (target / name).write_bytes(gzip.compress(short, 1))


# In the place of compute-sanitizer: runs the program behind the options, and notes the tests it ran.
SANITIZER = """#!/bin/bash
while [[ $1 == --* ]]; do
  if [[ $1 == --tool || $1 == --error-exitcode ]]; then shift; fi
  shift
done
"$1" --list-test-names-only "$2" >> "$SANITIZED"
exec "$@"
"""


def make_pack(pack, run_all, programs):
    for folder in ["bin", "data"]:
        (pack / folder).mkdir(parents=True)
    shutil.copy(run_all, pack)
    for name, program in zip(PROGRAMS, programs):
        (pack / "bin" / name).symlink_to(program)
    for part, count in [("train", 6000), ("t10k", 1000)]:
        cut(f"{part}-images-idx3-ubyte.gz", count, 16, 28 * 28, pack / "data")
        cut(f"{part}-labels-idx1-ubyte.gz", count, 8, 1, pack / "data")


def check(what, holds, output):
    if not holds:
        print(output)
        sys.exit(f"run_all_test: not so: {what}")


def main():
    run_all, *programs = sys.argv[1:]
    if not IMAGES.exists():
        print("skipped: package dataset-fashion-mnist is not installed")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        pack = Path(folder) / "pack"
        make_pack(pack, run_all, programs)
        results = Path(folder) / "results"
        sanitizer = Path(folder) / "tools" / "compute-sanitizer"
        sanitizer.parent.mkdir()
        sanitizer.write_text(SANITIZER)
        sanitizer.chmod(0o755)
        sanitized = Path(folder) / "sanitized"
        environment = {**os.environ, "FAKE_CUDA_MIB": "96", "TUNE_NVML_LIBRARY": "none",
                       "PATH": f"{sanitizer.parent}:{os.environ['PATH']}", "SANITIZED": str(sanitized)}
        for name in ["CUDA_VISIBLE_DEVICES", "FAKE_CUDA_DEVICES"]:
            environment.pop(name, None)
        run = subprocess.run([pack / "run_all", "--quick", results], capture_output=True, text=True,
                             env=environment)
        output = run.stdout + run.stderr
        check("it ends well", run.returncode == 0, output)
        for step in ["machine", "gpu_test", "memcheck", "racecheck", "search", "gpu_bench"]:
            lines = [line for line in run.stdout.splitlines() if line.startswith(step + " ")]
            check(f"step {step} is said to have ended well", len(lines) == 1 and "exit status 0," in lines[0],
                  output)
        check("the kernels' tests are run under compute-sanitizer, seven and three of them",
              len(sanitized.read_text().splitlines()) == 10, output + sanitized.read_text())
        rows = [json.loads(line) for line in (results / "gpu_bench.json").read_text().splitlines()]
        names = [row["name"] for row in rows]
        for name in ["copy on the device", "gather", "Adam", "product 256 x 784 x 512, ours",
                     "training, 16 workers", "ASHA search, 4 trials at a time"]:
            check(f"{name} is measured, and in the table", name in names and name in run.stdout, output)
        check("all figures are above 0", all(row["value"] > 0 for row in rows), output)
        check("products that do not fit are left out", "product 4096 x 4096 x 4096, ours" not in names, output)
        check("the table comes last", run.stdout.splitlines()[-1].startswith(names[-1]), output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
