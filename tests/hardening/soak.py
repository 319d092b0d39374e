"""Kills, faults and damaged files for a given time, with counts; exit code 1 when anything was lost, doubled or crashed.

    soak.py SECONDS [--seed N] [--train]

Kills (-9, at a random moment of run, check, gen, report, and train with --train) are followed by the same command again, until it
ends by itself: every Record that was on disk must still be there, and the whole must equal what an undisturbed run wrote. Faults
make a random call of run, report and baseline fail (fault.cpp). Damaged files are Records, baselines, checkpoints and samples
with bytes changed, cut or doubled; the program may refuse them, and never end by a signal or print more than its one line.
"""

import argparse
import errno
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import (FAULT_LIBRARY, PROGRAM, ROOT, lines_of, problem_with, run, start, tiny_recipe,  # noqa: E402
                     training_result)

LENGTHS = "64,72,80,88,96,104,112,120,128,136"


class Loss(Exception):
    """Something that must not happen."""


def require(holds, text):
    if not holds:
        raise Loss(text)


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Soak:
    def __init__(self, folder, seed, train):
        self.folder, self.random = folder, random.Random(seed)
        self.counts = dict.fromkeys(("kills", "resumed", "faults", "damaged files", "refused", "left names", "losses"), 0)
        self.kills = {}
        self.serial = 0
        self.kinds = [(self.kill_run, 4), (self.kill_check, 2), (self.kill_gen, 1), (self.kill_report, 1), (self.fault_run, 2),
                      (self.fault_results, 2), (self.damage, 6)]
        self.whole = self.path("whole.jsonl")
        self.must("run", "sleepy:2", *self.questions(), "-o", self.whole)
        self.whole_lines = lines_of(self.whole)[0]
        self.baseline = self.path("ci.json")
        self.must("baseline", "write", self.whole, "-o", self.baseline)
        self.samples = self.path("set.jsonl")
        with open(self.samples, "wb") as file:
            subprocess.run([PROGRAM, "gen", "recall", "--length", "512", "--n", "200"], check=True, stdout=file)
        self.must("report", self.whole, "-o", self.path("whole.html"))
        if train:
            self.recipe = tiny_recipe(self.path("tiny.json"), 12)
            self.must("train", self.recipe, "-o", self.path("trained"))
            self.trained = training_result(self.path("trained"))
            self.kinds.append((self.kill_train, 1))

    @staticmethod
    def questions():
        return ("--tasks", "recall", "--lengths", LENGTHS, "--samples", "10", "--batch", "10")

    def path(self, name):
        return os.path.join(self.folder, name)

    def fresh(self, suffix):
        self.serial += 1
        return self.path(f"{self.serial}{suffix}")

    @staticmethod
    def must(*words):
        done = run(*words, timeout=300)
        require(done.returncode == 0, f"{words} ended with {done.returncode}: {done.stderr}")
        return done

    def kill(self, what, longest, *words, **more):
        """Starts it and kills it within `longest` seconds; True when it had not ended by itself."""
        child = start(*words, stderr=subprocess.DEVNULL, **{"stdout": subprocess.DEVNULL, **more})
        try:
            child.wait(timeout=self.random.uniform(0, longest))
        except subprocess.TimeoutExpired:
            child.kill()
        killed = child.wait() == -signal.SIGKILL
        self.counts["kills"] += killed
        self.kills[what] = self.kills.get(what, 0) + killed
        return killed

    def kill_run(self):
        path = self.fresh(".jsonl")
        words = ("run", "sleepy:2", *self.questions(), "-o", path)
        kept = []
        for _ in range(self.random.randint(1, 4)):
            self.kill("run", 0.3, *words)
            problem = problem_with(path, kept, self.whole_lines)
            require(problem is None, problem)
            kept = lines_of(path)[0]
        self.must(*words)
        problem = problem_with(path, kept, self.whole_lines)
        require(problem is None, problem)
        require(len(lines_of(path)[0]) == len(self.whole_lines), f"{path}: the resumed run is not whole")
        self.counts["resumed"] += 1

    def kill_check(self):
        records, junit = self.fresh(".jsonl"), self.fresh(".xml")
        words = ("check", "sleepy:2", "--baseline", self.baseline, "--all-samples", "--batch", "10", "-o", records, "--junit", junit)
        kept = []
        for _ in range(2):
            self.kill("check", 0.3, *words)
            problem = problem_with(records, kept, self.whole_lines)
            require(problem is None, problem)
            kept = lines_of(records)[0]
            require(not os.path.exists(junit) or read(junit).rstrip().endswith(b"</testsuites>"), "a torn JUnit file")
        done = run(*words)
        if done.returncode == 2 and "already holds Records" in done.stderr:
            # A check measures once: its Records are kept aside and measured again.
            done = run(*words, "--overwrite")
        require(done.returncode == 0, f"check after a kill ended with {done.returncode}: {done.stderr}")
        require(len(lines_of(records)[0]) == len(self.whole_lines), f"{records}: not whole")
        self.counts["resumed"] += 1

    def kill_gen(self):
        path = self.fresh(".jsonl")
        with open(path, "wb") as file:
            killed = self.kill("gen", 0.05, "gen", "recall", "--length", "512", "--n", "200", stdout=file)
        data = read(path)
        require(read(self.samples).startswith(data), "gen wrote other bytes than undisturbed")
        if killed and data != read(self.samples):
            done = run("run", "oracle", "--data", path)
            require(done.returncode == 2, f"part of a sample file was taken for a whole one: {done.stdout[:200]}")

    def kill_report(self):
        path = self.fresh(".html")
        before = b"an older page\n"
        with open(path, "wb") as file:
            file.write(before)
        self.kill("report", 0.05, "report", self.whole, "-o", path)
        whole = read(self.path("whole.html"))
        require(read(path) in (before, whole), "a torn page")
        # No call replaces a file by a nameless one, so a kill between naming and renaming leaves a name, of a whole page.
        left = [name for name in os.listdir(self.folder) if name.startswith(".lenbench-")]
        require(len(left) <= 1, f"a killed report left {left}")
        for name in left:
            require(read(self.path(name)) == whole, f"a killed report left {name}, which is not the whole page")
            os.remove(self.path(name))
            self.counts["left names"] += 1

    def kill_train(self):
        folder = self.fresh("-trained")
        words = ("train", self.recipe, "-o", folder)
        for _ in range(2):
            self.kill("train", 6, *words)
        if not os.path.exists(os.path.join(folder, "origin.json")) or os.path.exists(os.path.join(folder, "train_state.safetensors")):
            done = run(*words, timeout=300)
            require(done.returncode in (0, 2), f"train after a kill ended with {done.returncode}: {done.stderr}")
            require(done.returncode == 0 or "already" in done.stderr, done.stderr)
        require(training_result(folder) == self.trained, f"{folder}: another model than that of the undisturbed training")
        self.counts["resumed"] += 1

    def fault(self):
        call = self.random.choice(("write", "fsync", "rename"))
        code = self.random.choice((errno.ENOSPC, errno.EDQUOT, errno.EIO))
        self.counts["faults"] += 1
        return {"LD_PRELOAD": FAULT_LIBRARY, "LENBENCH_FAULT": f"{call}:{self.random.randint(1, 12)}:{code}"}

    def fault_run(self):
        path = self.fresh(".jsonl")
        words = ("run", "oracle", *self.questions(), "-o", path)
        done = run(*words, environment=self.fault())
        require(done.returncode in (0, 3), f"a fault made run end with {done.returncode}: {done.stderr}")
        kept, rest = lines_of(path)
        require(rest == b"", f"{path}: torn")
        self.must(*words)
        require(lines_of(path)[0][:len(kept)] == kept and len(lines_of(path)[0]) == len(self.whole_lines), f"{path}: lost or doubled")

    def fault_results(self):
        for words, suffix in ((("report", self.whole, "-o"), ".html"), (("baseline", "write", self.whole, "-o"), ".json"),
                              (("table", self.whole, "-o"), ".md")):
            path = self.fresh(suffix)
            done = run(*words, path, environment=self.fault())
            require(done.returncode in (0, 3), f"a fault made {words[0]} end with {done.returncode}: {done.stderr}")
            require(os.path.exists(path) == (done.returncode == 0), f"{path}: half a file, or none")

    def damaged(self, data):
        data = bytearray(data)
        for _ in range(self.random.choice((1, 1, 1, 3, 20))):
            at, kind = self.random.randrange(len(data) + 1), self.random.randrange(5)
            if kind == 0 and at < len(data):
                data[at] ^= 1 << self.random.randrange(8)
            elif kind == 1:
                data[at:at + self.random.randrange(1, 200)] = b""
            elif kind == 2:
                data[at:at] = data[at:at + self.random.randrange(1, 200)]
            elif kind == 3:
                data[at:at] = self.random.choice((b"\0", b"\n", b"\xff\xfe", b"1e999", b"[" * 50, b"NaN", b'"', b"{}", b"-"))
            else:
                del data[at:]
            if not data:
                data[:] = b"{"
        return bytes(data)

    def damage(self):
        checkpoint = os.path.join(ROOT, "results", "checkpoints", "recall-softmax-nape")
        kind = self.random.choice(("records", "baseline", "samples", "config", "weights"))
        path = self.fresh(".x")
        if kind == "records":
            files, commands = {path: self.whole}, [("table", path), ("report", path, "-o", path + ".html"), ("compare", self.whole, path),
                                                   ("run", "sleepy:2", *self.questions(), "-o", path)]
        elif kind == "baseline":
            files, commands = {path: self.baseline}, [("check", self.whole, "--baseline", path), ("baseline", "show", path)]
        elif kind == "samples":
            files, commands = {path: self.samples}, [("run", "oracle", "--data", path)]
        else:
            os.mkdir(path)
            name = "config.json" if kind == "config" else "model.safetensors"
            other = "model.safetensors" if kind == "config" else "config.json"
            os.symlink(os.path.join(checkpoint, other), os.path.join(path, other))
            files, commands = {os.path.join(path, name): os.path.join(checkpoint, name)}, [("inspect", path)]
        for target, source in files.items():
            data = read(source)
            if kind == "weights":  # the header is what is read here
                head = min(len(data), 8192)
                data = self.damaged(data[:head]) + data[head:]
            else:
                data = self.damaged(data)
            with open(target, "wb") as file:
                file.write(data)
        self.counts["damaged files"] += 1
        for words in commands:
            done = subprocess.run([PROGRAM, *words], capture_output=True, stdin=subprocess.DEVNULL, check=False, timeout=120)
            require(done.returncode in (0, 1, 2, 3), f"{words} ended with {done.returncode} on {path}: {done.stderr[-300:]}")
            require(b"internal error" not in done.stderr, f"{words} on {path}: {done.stderr[-300:]}")
            self.counts["refused"] += done.returncode == 2

    def go(self, seconds):
        steps = [kind for kind, weight in self.kinds for _ in range(weight)]
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            step = self.random.choice(steps)
            before = set(os.listdir(self.folder))
            try:
                step()
            except Loss as loss:
                self.counts["losses"] += 1
                print(f"LOSS in {step.__name__}: {loss}", flush=True)
                continue
            for name in set(os.listdir(self.folder)) - before:
                subprocess.run(["rm", "-rf", self.path(name)], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seconds", type=float)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of what is done when; printed")
    parser.add_argument("--train", action="store_true", help="training too, which needs LibTorch")
    options = parser.parse_args()
    print(f"soak: seed {options.seed}", flush=True)
    folder = tempfile.mkdtemp(prefix="lenbench-soak-")
    began = time.monotonic()
    soak = Soak(folder, options.seed, options.train)
    soak.go(options.seconds)
    kinds = ", ".join(f"{count} {what}" for what, count in sorted(soak.kills.items()))
    print(f"soak: {time.monotonic() - began:.0f} s: " + ", ".join(f"{count} {what}" for what, count in soak.counts.items()))
    print(f"soak: kills of {kinds}")
    if soak.counts["losses"]:
        print(f"soak: what is left is in {folder}")
        return 1
    subprocess.run(["rm", "-rf", folder], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
