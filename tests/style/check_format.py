#!/usr/bin/env python3
"""check_format.py <repository>: runs clang-format over our C++ files and reports what it would change.

Exit status 77, which CTest shows as skipped, where clang-format 14 is not installed: other versions
format some things in another way.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

VERSION = "14"
ROOTS = ["libtune", "schedulers", "searchers", "trainables", "cli", "examples", "tests", "benchmarks"]
SUFFIXES = {".h", ".hpp", ".cpp", ".cu", ".cuh"}


def find_clang_format():
    for name in [f"clang-format-{VERSION}", "clang-format"]:
        program = shutil.which(name)
        if program:
            output = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
            match = re.search(r"version (\d+)", output.stdout)
            if match and match.group(1) == VERSION:
                return program
    return None


def main():
    repository = Path(sys.argv[1])
    program = find_clang_format()
    if program is None:
        print(f"skipped: clang-format {VERSION} is not installed")
        return 77
    files = sorted(str(path) for root in ROOTS for path in (repository / root).rglob("*")
                   if path.suffix in SUFFIXES)
    if not files:
        print(f"no sources found below {repository}")
        return 1
    result = subprocess.run([program, "--dry-run", "-Werror", "-ferror-limit=1", "--style=file", *files],
                            capture_output=True, text=True)
    places = re.findall(r"^(\S+:\d+):\d+: error: code should be clang-formatted", result.stderr, re.MULTILINE)
    if places:
        print("not formatted from this line on; clang-format -i puts it right:")
        print("\n".join(f"  {place}" for place in places))
        return 1
    if result.returncode != 0:
        print(result.stderr)
        return 1
    print(f"{len(files)} files are formatted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
