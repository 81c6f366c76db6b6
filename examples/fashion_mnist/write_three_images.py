#!/usr/bin/env python3
"""write_three_images.py <folder>: writes the training files of a data set of three 1 x 1 images.

Not compressed: zlib, through which the program reads, takes plain files too.
"""

import sys
from pathlib import Path

UNSIGNED_BYTES = 0x08


def idx(dimensions, values):
    header = bytes([0, 0, UNSIGNED_BYTES, len(dimensions)])
    return header + b"".join(length.to_bytes(4, "big") for length in dimensions) + bytes(values)


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "train-images-idx3-ubyte.gz").write_bytes(idx([3, 1, 1], [0, 128, 255]))
    (folder / "train-labels-idx1-ubyte.gz").write_bytes(idx([3], [0, 1, 2]))


if __name__ == "__main__":
    main()
