"""How much two processes of one thread do against one process of two threads, by rounds that alternate.

tools/ranks_throughput.py [CHECKPOINT] [--length L] [--samples N] [--rounds R]
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

PROGRAM = pathlib.Path(__file__).resolve().parent.parent / "build/release/bin/lenbench"


def seconds(arguments, folder, more):
    """Wall-clock seconds of a whole run, start and end of its processes included."""
    started = time.monotonic()
    subprocess.run([PROGRAM, "run", arguments.checkpoint, "--tasks", "recall", "--lengths", arguments.length,
                    "--samples", arguments.samples, "--quiet", "--overwrite", "-o", f"{folder}/out.jsonl", *more],
                   check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", nargs="?", default="recall-asentmax-nape")
    parser.add_argument("--length", default="4096")
    parser.add_argument("--samples", default="64")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.rounds):
            sides = [("threads", ["--threads", "2"]), ("ranks", ["--threads", "2", "--jobs", "2"])]
            took = {name: seconds(arguments, folder, more) for name, more in (sides if number % 2 == 0 else sides[::-1])}
            ratios.append(took["threads"] / took["ranks"])
    print(json.dumps({"length": int(arguments.length), "samples": int(arguments.samples),
                      "throughput_of_two_ranks_over_two_threads": {"median": round(statistics.median(ratios), 3),
                                                                   "least": round(min(ratios), 3),
                                                                   "largest": round(max(ratios), 3)}}))


if __name__ == "__main__":
    main()
