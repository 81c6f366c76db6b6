#!/usr/bin/env python3
"""extract_snippets.py <page.md> <out.cpp>: writes the C++ snippets of a page as one source file.

    ```cpp                   declarations; each snippet stands in a namespace of its own
    ```cpp body              statements, put into a function
    ```cpp continue          goes on in the namespace of the snippet before: it sees its names
    ```cpp body continue     both
    ```cpp file              a whole file: not put into a namespace; at most one a page, the first
    ```cpp no-compile        left out

<tune/tune.hpp> is included, and #include lines are moved to the top. Errors name the line of the page.
"""

import re
import sys
from pathlib import Path

FENCE = re.compile(r"^(\s*)(```+|~~~+)\s*(.*?)\s*$")
WORDS = {"body", "continue", "file", "no-compile"}


def snippets(page):
    """Yields (first line number, words after cpp, lines) for every fenced block of C++."""
    fence, words, lines, start = None, [], [], 0
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        match = FENCE.match(line)
        if fence is None:
            if match:
                fence, indent = match.group(2), len(match.group(1))
                words, lines, start = match.group(3).split(), [], number + 1
        elif match and match.group(2).startswith(fence) and not match.group(3):
            if words and words[0] in {"cpp", "c++", "C++"}:
                yield start, words[1:], lines
            fence = None
        else:
            lines.append(line[indent:] if line[:indent].isspace() else line)
    if fence is not None:
        sys.exit(f"{page}:{start - 1}: this fence is not closed")


def extract(page):
    includes, code, count = [], [], 0
    for start, words, lines in snippets(page):
        unknown = set(words) - WORDS
        if unknown:
            sys.exit(f"{page}:{start - 1}: cpp is followed by {' '.join(sorted(unknown))}; "
                     f"known are {' '.join(sorted(WORDS))}")
        if "no-compile" in words:
            continue
        body = []
        for offset, line in enumerate(lines):
            target = includes if re.match(r"\s*#\s*include\b", line) else body
            if target is includes:
                includes.append(f'#line {start + offset} "{page}"')
            target.append(line)
            if target is includes:
                body.append("")  # keeps the numbers of the lines that follow
        text = [f'#line {start} "{page}"', *body]
        if "file" in words:
            if count:
                sys.exit(f"{page}:{start - 1}: only the first snippet of a page can be a whole file")
            count += 1
            code += text
            continue
        if "continue" not in words:
            count += 1
        elif count == 0:
            sys.exit(f"{page}:{start - 1}: there is no snippet before to continue")
        if "body" in words:
            text = [f"[[maybe_unused]] inline void body_of_line_{start}() {{", *text, "}"]
        code += [f"namespace snippet_{count} {{", *text, f"}}  // namespace snippet_{count}"]
    return (["#include <tune/tune.hpp>"] if code else []) + includes + code


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    page, out = Path(sys.argv[1]), Path(sys.argv[2])
    out.write_text("\n".join([f"// Made from {page.name}.", *extract(page), ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
