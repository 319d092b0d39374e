"""House rules that a search can check: include arrows between rooms, forbidden names, file length."""

import pathlib
import re
import subprocess
import sys

# What each room may include, besides itself. README's map says the same in words.
MAY_INCLUDE = {
    "base": set(),
    "stats": {"base"},
    "tasks": {"base"},
    "record": {"base"},
    "checkpoint": {"base"},
    "bench": {"base", "stats", "tasks", "record", "checkpoint"},
    "dist": {"base", "bench", "record", "tasks"},
    "exec": {"base", "bench", "tasks"},
    "report": {"base", "stats", "record"},
    "verdict": {"base", "stats", "record", "report"},
    "kernels": set(),
    "attention": {"base", "kernels", "bench"},
    "model": {"base", "checkpoint", "kernels", "attention", "bench", "tasks", "c10d"},
    "c10d": {"base", "bench"},
    "train": {"base", "tasks", "bench", "checkpoint", "attention", "model", "c10d"},
    "cli": {"base", "stats", "tasks", "record", "checkpoint", "bench", "report", "verdict", "exec", "dist"},
}
# Rooms above `bench` see only the seam to it.
BENCH_SEAM = {"c10d": {"bench/shared_store.h"}, "exec": {"bench/predictor.h"}, "attention": {"bench/predictor.h", "bench/timing.h"}, "model": {"bench/predictor.h", "bench/backend.h", "bench/answer_terms.h"},
              "train": {"bench/predictor.h", "bench/backend.h"}}
TASKS_SEAM = {"exec": {"tasks/task.h"}, "model": {"tasks/task.h"}}
TORCH = re.compile(r'#include\s*[<"](ATen|torch|c10|caffe2)/')
TORCH_ROOMS = {"attention", "model", "c10d", "train"}
MAX_LINES = 400


def room_of(path):
    parts = path.parts
    return parts[1] if parts[0] == "src" and len(parts) > 2 else ("tasks" if parts[0] == "tasks" else None)


def problems(path, text):
    room = room_of(path)
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{path}:{number}"
        if room:
            match = re.match(r'\s*#include\s*"([a-z_]+)/([^"]+)"', line)
            # Lists (.def) are data: any room may read them.
            if match and match.group(1) in MAY_INCLUDE and match.group(1) != room and not match.group(2).endswith(".def"):
                other, header = match.group(1), f"{match.group(1)}/{match.group(2)}"
                if other not in MAY_INCLUDE[room]:
                    yield f"{where}: room '{room}' must not include '{other}'"
                elif other == "bench" and room in BENCH_SEAM and header not in BENCH_SEAM[room]:
                    yield f"{where}: room '{room}' may include only {sorted(BENCH_SEAM[room])} of bench"
                elif other == "tasks" and room in TASKS_SEAM and header not in TASKS_SEAM[room]:
                    yield f"{where}: room '{room}' may include only {sorted(TASKS_SEAM[room])} of tasks"
            if TORCH.search(line) and room not in TORCH_ROOMS:
                yield f"{where}: torch headers are for {sorted(TORCH_ROOMS)} only"
            if room not in {"cli", "train"} and re.search(r"\bstd::(cout|cerr)\b|\bexit\(", line):
                yield f"{where}: only the command line prints or exits"
        if room == "tasks" and re.search(r"random_device|mt19937|std::uniform|\brand\(|\btime\(|std::hash|_clock|fstream|fopen", line):
            yield f"{where}: tasks know no clock, no files and no other randomness than Rng"
        if re.search(r"\b(TODO|FIXME|XXX)\b", line):
            yield f"{where}: unfinished work belongs in an issue"
    if path.suffix in {".h", ".cpp", ".cu"} and text.count("\n") > MAX_LINES:
        yield f"{path}: {text.count(chr(10))} lines; the wall is {MAX_LINES}: the second subject moves out"


TYPE = re.compile(r"^(?:struct|class|union|enum class|enum)\s+(?:\[\[\w+\]\]\s+)?(\w+)\b(?!::|<|.*;\s*$)")


def named_types(path, text):
    """Qualified names of the types that a file defines with linkage: outside classes, functions and unnamed namespaces."""
    spaces = []
    for line in text.splitlines():
        opened = re.match(r"namespace\s*([\w:]*)\s*{$", line)
        if opened:
            spaces.append(opened[1])
        elif line.startswith("}  // namespace"):
            spaces.pop()
        elif "" not in spaces and (found := TYPE.match(line)):
            yield "::".join([*spaces, found[1]])


def main():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"],
                            check=True, capture_output=True, text=True).stdout.splitlines()
    found, types = [], {}
    for name in listed:
        path = pathlib.Path(name)
        if not path.exists() or path.parts[0] not in {"src", "tasks", "tests", "tools"} and name != "CMakeLists.txt":
            continue
        if path.suffix not in {".h", ".cpp", ".cu", ".def", ".txt", ".cmake", ".sh", ".py"} or name == "tools/lint.py":
            continue
        text = path.read_text(encoding="utf-8")
        if "march=native" in text:
            found.append(f"{path}: machines differ: dispatch at run time instead of -march=native")
        if path.suffix in {".h", ".cpp", ".cu"}:
            found.extend(problems(path, text))
            for name in named_types(path, text):
                types.setdefault(name, []).append(str(path))
    # The linker keeps one of the two, for both.
    found.extend(f"{name}: two types of one name: {', '.join(files)}" for name, files in types.items() if len(files) > 1)
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
