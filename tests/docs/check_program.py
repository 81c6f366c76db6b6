#!/usr/bin/env python3
"""check_program.py <page.md> <source.cpp>: the page's `cpp file` snippet is that source, to the letter."""

import sys
from pathlib import Path

from extract_snippets import snippets


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    page, source = Path(sys.argv[1]), Path(sys.argv[2])
    programs = [lines for _, words, lines in snippets(page) if "file" in words]
    if programs != [source.read_text(encoding="utf-8").splitlines()]:
        sys.exit(f"{page}: its program (```cpp file) is not {source}: copy the source there")


if __name__ == "__main__":
    main()
