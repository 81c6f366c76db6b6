#!/usr/bin/env python3
"""Checks which way dependencies run, by reading the #include lines.

  check_includes.py <repository>    exit status 1 if a rule is broken, each fault on a line
  check_includes.py --self-test     plants one fault after another and expects each to be found

The rules are the folder table of docs/contributing.md. Whatever is not allowed there is refused.
"""

import re
import sys
import tempfile
from pathlib import Path

SOURCE_SUFFIXES = {".h", ".hpp", ".cpp", ".cu", ".cuh"}
ROOTS = ["libtune", "schedulers", "searchers", "trainables", "cli", "examples", "tests", "benchmarks"]
OWN_FOLDERS = ["core", "engine", "store", "report", "runtime", "sim", "support", "benchmarks"]

JSON = r"nlohmann/"
CAF = r"caf/"
SQLITE = r"sqlite3\.h|SQLiteCpp/"
EIGEN = r"Eigen/"
ZLIB = r"zlib\.h"
XXHASH = r"xxhash\.h"  # checksums of checkpoints
OPENSSL = r"openssl/"
CUDA = r"cuda|cublas|curand|cudnn|nvml"
DEMANGLER = r"cxxabi\.h"  # the name of a class, for messages
CATCH = r"catch2/"
PROGRAM_OPTIONS = r"boost/program_options"
BOOST_DLL = r"boost/dll"
BOOST_SOBOL = r"boost/random/sobol\.hpp"
BENCHMARK = r"benchmark/"
SYSTEM = "<system>"  # POSIX and Linux headers

PLUGINS = ("tune/schedulers/", "tune/searchers/", "tune/trainables/")


class Folder:
    """What the sources below `path` may include.

    `own` are our folders whose "folder/x.hpp" it may use, `public` the plugins' parts of <tune/...>,
    `others` patterns of third parties. A pure folder reaches no thread, clock or file. One that
    compiles sources of other folders anew leaves its own.
    """

    def __init__(self, path, own=(), public=(), others=(), pure=False, leaves=False):
        self.path, self.own, self.public, self.others = path, own, public, others
        self.pure, self.leaves = pure, leaves


# The first entry whose path a file lies below is the one that holds.
FOLDERS = [
    Folder("libtune/include/tune/tune.hpp", public=PLUGINS, others=[JSON]),
    Folder("libtune/include", others=[JSON]),
    Folder("libtune/core", own=["core"], others=[JSON, DEMANGLER], pure=True),
    # The registries serve static initialisation and plugins on any thread: they lock.
    Folder("libtune/engine/registry.cpp", own=["engine", "core"], others=[JSON]),
    Folder("libtune/engine", own=["engine", "core"], others=[JSON], pure=True),
    Folder("libtune/store", own=["store", "core"], others=[JSON, SQLITE, XXHASH, SYSTEM]),
    Folder("libtune/report", own=["report", "core"], others=[JSON, SYSTEM]),
    Folder("libtune/runtime/plugin_loader.cpp",
           own=["runtime", "engine", "store", "report", "core"], public=PLUGINS,
           others=[JSON, BOOST_DLL, SYSTEM]),
    Folder("libtune/runtime", own=["runtime", "engine", "store", "report", "core"], public=PLUGINS,
           others=[JSON, CAF, PROGRAM_OPTIONS, OPENSSL, SYSTEM]),
    # A real Trainable has real checkpoints.
    Folder("libtune/sim/trainable_workload.cpp", own=["core"], others=[JSON, SYSTEM]),
    Folder("libtune/sim", own=["sim", "engine", "report", "core"], public=PLUGINS, others=[JSON],
           pure=True),
    # A policy is read once, before anything runs.
    Folder("schedulers/pbt_policy_file.cpp", own=["core"], public=["tune/schedulers/"],
           others=[JSON]),
    Folder("schedulers", own=["core"], public=["tune/schedulers/"], others=[JSON, EIGEN], pure=True),
    # A large table, slow to compile: in one file alone.
    Folder("searchers/sobol_sequence.cpp", own=["core"], public=["tune/searchers/"],
           others=[JSON, BOOST_SOBOL], pure=True),
    Folder("searchers", own=["core"], public=["tune/searchers/"], others=[JSON, EIGEN], pure=True),
    Folder("trainables/include/trainables/cuda", own=["core"], public=["tune/trainables/"],
           others=[CUDA]),
    Folder("trainables/cuda", own=["core"], public=["tune/trainables/"], others=[JSON, CUDA, SYSTEM]),
    Folder("trainables", own=["core"], public=["tune/trainables/"],
           others=[JSON, EIGEN, ZLIB, SYSTEM]),
    Folder("cli", public=PLUGINS, others=[JSON]),
    Folder("examples", public=PLUGINS, others=[JSON, PROGRAM_OPTIONS]),
    Folder("tests/install", public=PLUGINS, others=[JSON]),
    # CUDA sources as C++, for a GPU that is played.
    Folder("tests/gpu", own=OWN_FOLDERS, public=PLUGINS, others=[JSON, CUDA, CATCH, SYSTEM], leaves=True),
    Folder("tests", own=OWN_FOLDERS, public=PLUGINS,
           others=[JSON, CAF, SQLITE, EIGEN, ZLIB, OPENSSL, CUDA, CATCH, SYSTEM]),
    Folder("benchmarks", own=OWN_FOLDERS, public=PLUGINS,
           others=[JSON, CAF, SQLITE, EIGEN, ZLIB, CUDA, BENCHMARK, SYSTEM]),
]

# Headers of the standard library that a pure folder does without. <filesystem> and <chrono> name
# paths and durations, and are values; what asks the disk or a clock is found by its name below.
IMPURE_HEADERS = {
    "atomic", "barrier", "condition_variable", "future", "latch", "mutex", "semaphore",
    "shared_mutex", "stop_token", "thread", "fstream", "iostream", "cstdio", "stdio.h", "ctime",
    "time.h", "csignal", "signal.h",
}
# Public headers, <tune/trainable.hpp> say, may need an atomic flag for their users' sake.
IMPURE_HEADERS_REACHED = IMPURE_HEADERS - {"atomic"}
IMPURE_NAMES = re.compile(
    r"\b(?:\w+_clock::now|random_device|this_thread|getenv|std::rand|"
    r"(?:filesystem|fs)::(?:exists|create_director\w+|remove\w*|rename|directory_iterator|file_size))\b")

STANDARD = set("""algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat
charconv chrono cinttypes climits clocale cmath codecvt compare complex concepts condition_variable
coroutine csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar cwctype
deque exception execution filesystem format forward_list fstream functional future initializer_list
iomanip ios iosfwd iostream istream iterator latch limits list locale map memory memory_resource
mutex new numbers numeric optional ostream queue random ranges ratio regex scoped_allocator semaphore
set shared_mutex source_location span sstream stack stdexcept stop_token streambuf string string_view
syncstream system_error thread tuple type_traits typeindex typeinfo unordered_map unordered_set
utility valarray variant vector version""".split())

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
# Comments and literals, in the order in which the language would read them.
NOT_CODE = re.compile(r'R"(\w*)\(.*?\)\1"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


class Checker:
    def __init__(self, repository):
        self.repository = Path(repository).resolve()
        self.faults = []
        self.files = {}  # path from the repository -> [(line, brackets, what is included)]
        self.texts = {}
        for root in ROOTS:
            for path in sorted((self.repository / root).rglob("*")):
                if path.suffix in SOURCE_SUFFIXES and path.is_file():
                    self.read(path)

    def read(self, path):
        text = path.read_text(encoding="utf-8")
        name = path.relative_to(self.repository).as_posix()
        self.texts[name] = text
        self.files[name] = [
            (text.count("\n", 0, match.start(2)) + 1, match.group(1), match.group(2))
            for match in INCLUDE.finditer(text)]

    def fault(self, name, line, what):
        self.faults.append(f"{name}:{line}: {what}")

    @staticmethod
    def folder_of(name):
        for folder in FOLDERS:
            if name == folder.path or name.startswith(folder.path + "/"):
                return folder
        return None

    def resolve(self, name, brackets, included):
        """The file of ours that an #include means, or None for one of others."""
        candidates = []
        if included.startswith("tune/"):
            candidates = [f"{root}/include/{included}"
                          for root in ["libtune", "schedulers", "searchers", "trainables",
                                       "trainables/cuda"]]
        elif brackets == '"':
            beside = (self.repository / name).parent / included
            if beside.is_file():
                return beside.resolve().relative_to(self.repository).as_posix()
            folder = included.split("/")[0]
            candidates = [f"libtune/{folder}/include/{included}",
                          f"{folder}/include/{included}", f"tests/{folder}/include/{included}"]
        return next((c for c in candidates if c in self.files), None)

    def check_include(self, name, folder, line, brackets, included):
        first = included.split("/")[0]
        if included.startswith("tune/"):
            if brackets == '"':
                self.fault(name, line, f"write <{included}>, not quotes")
            plugin = next((p for p in PLUGINS if included.startswith(p)), None)
            if included == "tune/tune.hpp" and folder.public != PLUGINS:
                self.fault(name, line, f"{folder.path} may not include <tune/tune.hpp>")
            elif plugin and plugin not in folder.public:
                self.fault(name, line, f"{folder.path} may not include <{included}>")
            if not self.resolve(name, brackets, included):
                self.fault(name, line, f"<{included}> is no public header of ours")
        elif brackets == '"':
            if self.resolve(name, brackets, included) is None:
                self.fault(name, line, f'"{included}" is no header of ours; use <> for others')
            elif "/" in included and first in OWN_FOLDERS and first not in folder.own:
                self.fault(name, line, f'{folder.path} may not include "{included}"')
            elif ".." in included and not folder.leaves:
                self.fault(name, line, f'"{included}" leaves its folder')
        elif included in STANDARD:
            if folder.pure and included in IMPURE_HEADERS:
                self.fault(name, line, f"{folder.path} has no thread, clock or file: <{included}>")
        elif not any(re.match(pattern, included) for pattern in folder.others):
            known = [JSON, CAF, SQLITE, EIGEN, ZLIB, XXHASH, OPENSSL, CUDA, CATCH, BENCHMARK]
            is_system = included.endswith(".h") and not any(re.match(p, included) for p in known)
            if not (is_system and SYSTEM in folder.others):
                self.fault(name, line, f"{folder.path} may not include <{included}>")

    def check_reach(self, name):
        """What a pure file includes through headers of ours counts as its own."""
        seen, todo = {name}, [name]
        while todo:
            current = todo.pop()
            for line, brackets, included in self.files[current]:
                if current != name and included in IMPURE_HEADERS_REACHED:
                    self.fault(name, 1, f"reaches <{included}> through {current}:{line}")
                target = self.resolve(current, brackets, included)
                if target and target not in seen:
                    seen.add(target)
                    todo.append(target)

    def check_names(self, name):
        def blank(match):
            return re.sub(r"[^\n]", " ", match.group(0))

        code = NOT_CODE.sub(blank, self.texts[name])
        for match in IMPURE_NAMES.finditer(code):
            self.fault(name, code.count("\n", 0, match.start()) + 1,
                       f"a pure folder has no {match.group(0)}")

    def check_circles(self):
        state = {}  # 1: being visited, 2: done
        for start in self.files:
            if start in state:
                continue
            path, stack = [start], [iter(self.files[start])]
            state[start] = 1
            while stack:
                for line, brackets, included in stack[-1]:
                    target = self.resolve(path[-1], brackets, included)
                    if target is None or state.get(target) == 2:
                        continue
                    if state.get(target) == 1:
                        circle = path[path.index(target):] + [target]
                        self.fault(path[-1], line, "circular include: " + " -> ".join(circle))
                        continue
                    state[target] = 1
                    path.append(target)
                    stack.append(iter(self.files[target]))
                    break
                else:
                    state[path.pop()] = 2
                    stack.pop()

    def check(self):
        if not self.files:
            self.faults.append(f"{self.repository}: no sources found")
        for name, includes in self.files.items():
            folder = self.folder_of(name)
            if folder is None:
                self.fault(name, 1, "no rule for this folder: add one to tests/style/check_includes.py")
                continue
            for line, brackets, included in includes:
                self.check_include(name, folder, line, brackets, included)
            if folder.pure:
                self.check_reach(name)
                self.check_names(name)
            if name.endswith((".hpp", ".cuh")) and "#pragma once" not in self.texts[name]:
                self.fault(name, 1, "a header needs #pragma once")
            stem = Path(name).name.split(".")[0]
            if not re.fullmatch(r"[a-z][a-z0-9_]*", stem):
                self.fault(name, 1, "file names are snake_case")
            if stem in {"utils", "util", "helpers", "helper", "common", "misc"}:
                self.fault(name, 1, f"`{stem}` says nothing: name a file after the type it serves")
        self.check_circles()
        return self.faults


# A small sound repository, then one fault at a time with a piece of the message it must cause.
SOUND = {
    "libtune/include/tune/json.hpp": "#pragma once\n#include <nlohmann/json.hpp>\n",
    "libtune/include/tune/tune.hpp": "#pragma once\n#include <tune/json.hpp>\n#include <tune/schedulers/fifo.hpp>\n",
    "libtune/core/include/core/key.hpp": "#pragma once\n#include <chrono>\n#include <filesystem>\n",
    "libtune/core/key.cpp": '#include "core/key.hpp"\n// steady_clock::now in words\nconst char* a = "getenv";\n',
    "libtune/engine/include/engine/state.hpp": '#pragma once\n#include "core/key.hpp"\n',
    "libtune/store/lock.cpp": "#include <sqlite3.h>\n#include <xxhash.h>\n#include <sys/file.h>\n#include <mutex>\n",
    "libtune/report/include/report/csv.hpp": "#pragma once\n#include <tune/json.hpp>\n",
    "libtune/runtime/driver.cpp": '#include <caf/all.hpp>\n#include "engine/state.hpp"\n#include "report/csv.hpp"\n',
    "libtune/runtime/options.cpp": "#include <boost/program_options.hpp>\n#include <tune/json.hpp>\n",
    "schedulers/include/tune/schedulers/fifo.hpp": "#pragma once\n#include <tune/json.hpp>\n",
    "schedulers/fifo.cpp": '#include <tune/schedulers/fifo.hpp>\n#include "rung.hpp"\n',
    "schedulers/rung.hpp": "#pragma once\n#include <map>\n",
    "trainables/mlp.cpp": "#include <Eigen/Core>\n#include <zlib.h>\n",
    "examples/first/main.cpp": "#include <boost/program_options.hpp>\n#include <tune/tune.hpp>\n",
    "tests/unit/engine/state_test.cpp": '#include "engine/state.hpp"\n#include <catch2/catch.hpp>\n',
}
PLANTED = [
    ("libtune/core/x.cpp", "#include <caf/all.hpp>\n", "libtune/core may not include <caf/all.hpp>"),
    ("libtune/report/x.cpp", "#include <caf/actor.hpp>\n", "may not include <caf/actor.hpp>"),
    ("libtune/store/x.cpp", "#include <caf/actor.hpp>\n", "may not include <caf/actor.hpp>"),
    ("libtune/include/tune/x.hpp", "#pragma once\n#include <caf/actor.hpp>\n", "may not include <caf"),
    ("libtune/runtime/x.cpp", "#include <sqlite3.h>\n", "libtune/runtime may not include <sqlite3.h>"),
    ("libtune/runtime/x.cpp", "#include <xxhash.h>\n", "libtune/runtime may not include <xxhash.h>"),
    ("trainables/x.cpp", "#include <cuda_runtime.h>\n", "trainables may not include <cuda_runtime.h>"),
    ("libtune/core/x.cpp", '#include "engine/state.hpp"\n', 'libtune/core may not include "engine/state.hpp"'),
    ("libtune/store/x.cpp", '#include "report/csv.hpp"\n', 'libtune/store may not include "report/csv.hpp"'),
    ("libtune/engine/x.cpp", '#include "report/csv.hpp"\n', "libtune/engine may not include"),
    ("schedulers/x.cpp", '#include "engine/state.hpp"\n', "schedulers may not include"),
    ("searchers/x.cpp", "#include <tune/schedulers/fifo.hpp>\n", "searchers may not include <tune/schedulers"),
    ("searchers/x.cpp", "#include <tune/tune.hpp>\n", "may not include <tune/tune.hpp>"),
    ("searchers/x.cpp", "#include <boost/random/sobol.hpp>\n", "searchers may not include <boost/random/sobol.hpp>"),
    ("libtune/core/x.cpp", "#include <Eigen/Core>\n", "libtune/core may not include <Eigen/Core>"),
    ("examples/x/main.cpp", '#include "engine/state.hpp"\n', "examples may not include"),
    ("examples/x/main.cpp", "#include <boost/asio.hpp>\n", "examples may not include"),
    ("libtune/include/tune/x.hpp", "#pragma once\n#include <boost/program_options.hpp>\n", "may not include <boost"),
    ("libtune/core/x.cpp", "#include <thread>\n", "no thread, clock or file: <thread>"),
    ("libtune/engine/x.cpp", "#include <mutex>\n", "no thread, clock or file: <mutex>"),
    ("schedulers/x.cpp", "#include <atomic>\n", "no thread, clock or file: <atomic>"),
    ("searchers/x.cpp", "#include <fstream>\n", "no thread, clock or file: <fstream>"),
    ("libtune/engine/x.cpp", "#include <unistd.h>\n", "libtune/engine may not include <unistd.h>"),
    ("libtune/core/x.cpp", "auto t = std::chrono::steady_clock::now();\n", "no steady_clock::now"),
    ("searchers/x.cpp", "std::random_device d;\n", "no random_device"),
    ("libtune/include/tune/json.hpp", "#pragma once\n#include <thread>\n", "reaches <thread> through"),
    ("libtune/core/include/core/key.hpp", '#pragma once\n#include "core/lock.hpp"\n', "is no header of ours"),
    ("schedulers/rung.hpp", "#pragma once\n#include <tune/schedulers/fifo.hpp>\n", ""),
    ("libtune/engine/include/engine/x.hpp", '#pragma once\n#include "engine/x.hpp"\n', "circular include"),
    ("schedulers/include/tune/schedulers/fifo.hpp", '#pragma once\n#include <tune/tune.hpp>\n', "circular include"),
    ("libtune/core/x.cpp", '#include "tune/json.hpp"\n', "write <tune/json.hpp>"),
    ("libtune/core/x.cpp", "#include <tune/jsn.hpp>\n", "no public header"),
    ("libtune/core/include/core/x.hpp", "#include <map>\n", "#pragma once"),
    ("libtune/core/Key.cpp", "\n", "snake_case"),
    ("libtune/core/utils.cpp", "\n", "says nothing"),
    ("libtune/extra/x.cpp", "\n", "no rule for this folder"),
]


def self_test():
    failures = 0
    for planted, text, expected in [(None, None, "")] + PLANTED:
        with tempfile.TemporaryDirectory() as folder:
            tree = dict(SOUND)
            if planted:
                tree[planted] = text
            for name, content in tree.items():
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content, encoding="utf-8")
            faults = Checker(folder).check()
        found = any(expected in fault for fault in faults) if expected else not faults
        if not found:
            failures += 1
            print(f"planted {planted}: {text!r}\n  expected: {expected or 'no fault'}\n  found: {faults}")
    print(f"{len(PLANTED)} faults planted, {failures} wrongly judged")
    return failures


def main():
    if sys.argv[1:] == ["--self-test"]:
        return 1 if self_test() else 0
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    faults = Checker(sys.argv[1]).check()
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
