"""One long text in one process and split over ranks: the same answers and nats, and how much memory each process took.

tools/split_check.py [CHECKPOINT] [--length L] [--samples N] [--ranks R]

Each process has one thread. Memory is the high-water mark above that of the same run at 64 tokens, which LibTorch, the
program and the weights take.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

PROGRAM = pathlib.Path(__file__).resolve().parent.parent / "build/release/bin/lenbench"


def high_water_bytes(pid):
    """VmHWM of a process; 0 once it is gone."""
    try:
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    except OSError:
        pass
    return 0


def children(pid):
    try:
        return [int(child) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
                for child in (task / "children").read_text().split()]
    except OSError:
        return []


def measure(arguments, length, ranks, folder):
    """The Record of a run, its seconds, and the high-water mark of each of its processes, rank 0 first."""
    output = pathlib.Path(folder) / f"{length}-{ranks}.jsonl"
    more = ["--jobs", str(ranks), "--split-sequence"] if ranks > 1 else []
    started = time.monotonic()
    child = subprocess.Popen(
        [PROGRAM, "run", arguments.checkpoint, "--tasks", arguments.task, "--lengths", str(length), "--samples",
         str(arguments.samples), "--batch", "1", "--threads", str(ranks), "--quiet", "-o", output, *more],
        stdout=subprocess.DEVNULL)
    others = {}
    while True:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid != 0:
            break
        for rank in children(child.pid):
            others[rank] = max(others.get(rank, 0), high_water_bytes(rank))
        time.sleep(0.01)
    if status != 0:
        sys.exit(f"the run over {ranks} ranks failed")
    record = json.loads(output.read_text())
    return record, time.monotonic() - started, [1024 * usage.ru_maxrss, *others.values()]


def reals(value):
    """Every real number of a Record's measurement."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in {"seconds", "peak_bytes"}:
                yield from reals(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from reals(inner)
    elif isinstance(value, float):
        yield value


def largest_difference(one, other):
    pairs = list(zip(reals(one["measurement"]), reals(other["measurement"]), strict=True))
    return max((abs(a - b) / max(abs(a), abs(b)) for a, b in pairs if a != b), default=0.0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", nargs="?", default="recall-asentmax-nape")
    parser.add_argument("--task", default="recall")
    parser.add_argument("--length", type=int, default=262144)
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--ranks", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = {}
        for name, ranks in (("one process", 1), (f"{arguments.ranks} ranks", arguments.ranks)):
            base = measure(arguments, 64, ranks, folder)[2]
            record, seconds, peaks = measure(arguments, arguments.length, ranks, folder)
            runs[name] = record
            activations = [peak - least for peak, least in zip(peaks, base, strict=True)]
            print(json.dumps({"run": name, "length": arguments.length, "seconds": round(seconds, 1),
                              "peak_mib": [round(peak / 2**20, 1) for peak in peaks],
                              "peak_above_64_tokens_mib": [round(more / 2**20, 1) for more in activations],
                              "record_peak_mib": round(record["measurement"]["peak_bytes"] / 2**20, 1),
                              "nats": record["measurement"].get("nll_nats")}))
        one, split = runs.values()
        same = one["outcomes"] == split["outcomes"]
        difference = largest_difference(one, split)
        print(json.dumps({"same_outcomes": same, "largest_relative_difference_of_reals": difference}))
        if not same or difference > 1e-6:
            sys.exit(1)


if __name__ == "__main__":
    main()
