"""Disks that are full, quotas, broken drives, read-only folders, clocks that go backwards."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import FAULT_LIBRARY, PROGRAM, SANITIZED, Folder, answer_of, lines_of, problem_with, run, start  # noqa: E402

LENGTHS = "64,72,80,88,96"


def measuring(path, model="oracle:80"):
    return ["run", model, "--tasks", "recall", "--lengths", LENGTHS, "--samples", "4", "-o", path]


def fault(call, number, code):
    return {"LD_PRELOAD": FAULT_LIBRARY, "LENBENCH_FAULT": f"{call}:{number}:{code}"}


class Measuring(Folder):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "whole.jsonl")
            done = run(*measuring(path))
            assert done.returncode == 0, done.stderr
            cls.whole = lines_of(path)[0]

    def one_error(self, done, mention):
        errors = [line for line in done.stderr.splitlines() if line.startswith("lenbench: error:")]
        self.assertEqual(len(errors), 1, done.stderr)
        self.assertIn(mention, errors[0])

    def resumes(self, path, kept, model="oracle:80"):
        """The same command ends the work, and the file is that of an undisturbed run."""
        done = run(*measuring(path, model))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIsNone(problem_with(path, kept, self.whole))
        self.assertEqual(len(lines_of(path)[0]), len(self.whole))


@unittest.skipIf(SANITIZED, "a sanitizer's own calls come before the fault library's")
class BrokenWrites(Measuring):
    def test_every_call_of_a_run_may_fail(self):
        counts = {}
        for call, code in (("write", errno.ENOSPC), ("write", errno.EDQUOT), ("write", errno.EIO), ("fsync", errno.EIO),
                           ("fsync", errno.EDQUOT)):
            for number in range(1, 12):
                path = self.path(f"{call}-{code}-{number}.jsonl")
                done = run(*measuring(path), environment=fault(call, number, code))
                kept, rest = lines_of(path)
                self.assertIsNone(problem_with(path, [], self.whole))
                if done.returncode == 0:
                    self.assertEqual(len(kept), len(self.whole))
                    break
                self.assertEqual(done.returncode, 3, done.stderr)
                self.one_error(done, os.path.basename(path))
                self.assertEqual(rest, b"", "a torn Record was left although the disk could take it back")
                counts[call] = counts.get(call, 0) + 1
                self.resumes(path, kept)
            else:
                self.fail(f"{call} is called more often than five Records need")
        self.assertGreaterEqual(counts["write"], 15)
        self.assertGreaterEqual(counts["fsync"], 10)

    def test_results_are_whole_or_not_there(self):
        records = self.path("r.jsonl")
        self.resumes(records, [])
        baseline = self.path("ci.json")
        self.assertEqual(run("baseline", "write", records, "-o", baseline).returncode, 0)
        commands = {"table": ["table", records, "-o"], "report": ["report", records, "-o"],
                    "plot": ["plot", "accuracy", records, "-o"], "baseline": ["baseline", "write", records, "-o"],
                    "junit": ["check", records, "--baseline", baseline, "--junit"]}
        for name, words in commands.items():
            suffix = ".vl.json" if name == "plot" else ".html" if name == "report" else ""
            good = self.path(name + suffix)
            self.assertEqual(run(*words, good).returncode, 0, name)
            with open(good, "rb") as file:
                wanted = file.read()
            for call, code in (("write", errno.ENOSPC), ("write", errno.EDQUOT), ("fsync", errno.EIO), ("rename", errno.EIO)):
                for target, there in ((self.path("new-" + name + suffix), None), (good, wanted)):
                    overwrite = ["--overwrite"] if name == "baseline" and there else []
                    done = run(*words, target, *overwrite, environment=fault(call, 1, code))
                    self.assertEqual(done.returncode, 3, f"{name} {call}: {done.stderr}")
                    self.one_error(done, os.path.basename(target))
                    if there is None:
                        self.assertFalse(os.path.exists(target), name)
                    else:
                        with open(target, "rb") as file:
                            self.assertEqual(file.read(), there, name)
            self.assertEqual([left for left in os.listdir(self.folder) if left.startswith(".lenbench-")], [])


class Mounts(Measuring):
    """On a small file system of its own, which vanishes with the process that mounted it."""

    def inside(self, options, script):
        command = f'mount -t tmpfs -o {options} none "$1" || exit 99; cd "$1"; {script}'
        done = subprocess.run(["unshare", "--mount", "--map-root-user", "bash", "-c", command, "bash", self.folder, PROGRAM],
                              capture_output=True, text=True, check=False, timeout=120)
        if done.returncode == 99 or "unshare failed" in done.stderr:
            self.skipTest("this user may not mount a tmpfs: " + done.stderr.strip())
        return done

    def test_a_full_disk_ends_with_whole_records_and_resumes_when_there_is_room(self):
        arguments = " ".join(measuring("r.jsonl"))
        done = self.inside("size=64k", f'''
            head -c 57344 /dev/zero > ballast; "$2" {arguments} > /dev/null 2> /dev/shm/lenbench-err-$$; echo "code $?"
            cat /dev/shm/lenbench-err-$$; rm /dev/shm/lenbench-err-$$; wc -l < r.jsonl; tail -c 1 r.jsonl | od -An -c
            rm ballast; "$2" {arguments} --quiet > /dev/null; echo "code $?"; wc -l < r.jsonl''')
        codes = re.findall(r"code (\d+)", done.stdout)
        self.assertEqual(codes, ["3", "0"], done.stdout + done.stderr)
        self.assertIn("No space left", done.stdout)
        counts = [int(line) for line in done.stdout.splitlines() if line.isdigit()]
        self.assertLess(counts[0], 5)
        self.assertEqual(counts[1], 5)
        self.assertIn(r"\n", done.stdout, "the file ends with a whole line")

    def test_a_read_only_folder_is_refused_before_anything_is_measured(self):
        done = self.inside("size=1m", f'''
            "$2" run oracle --lengths 64 --samples 1 -o r.jsonl --quiet > out; mount -o remount,ro "$PWD"
            "$2" {" ".join(measuring("new.jsonl", "sleepy:100000"))}; echo "run $?"
            "$2" {" ".join(measuring("deep/er/new.jsonl", "sleepy:100000"))}; echo "run $?"
            "$2" table r.jsonl -o t.md; echo "table $?"; "$2" report r.jsonl -o t.html; echo "report $?"
            "$2" table r.jsonl > /dev/null; echo "reads $?"''')
        self.assertEqual(re.findall(r"^(\w+ \d+)$", done.stdout, re.M), ["run 2", "run 2", "table 3", "report 3", "reads 0"],
                         done.stdout + done.stderr)
        self.assertEqual(done.stderr.count("lenbench: error:"), 4, done.stderr)
        self.assertGreaterEqual(done.stderr.count("Read-only file system"), 4, done.stderr)


@unittest.skipIf(SANITIZED, "a sanitizer's own calls come before the fault library's")
class Clocks(Measuring):
    def test_a_clock_that_goes_backwards_changes_no_answer_and_no_duration(self):
        path = self.path("r.jsonl")
        done = run(*measuring(path), environment={"LD_PRELOAD": FAULT_LIBRARY, "LENBENCH_CLOCK_STEP": "3600"})
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = lines_of(path)[0]
        self.assertIsNone(problem_with(path, [], self.whole))
        records = [json.loads(line) for line in lines]
        started = [record["setting"]["started_at"] for record in records]
        self.assertEqual(started, sorted(started, reverse=True), "the clock was not turned back")
        for record in records:
            self.assertTrue(0 <= record["measurement"]["seconds"] < 60)
        self.resumes(path, lines)
        for words in (["table", path], ["report", path, "-o", self.path("r.html")]):
            self.assertEqual(run(*words, environment={"LD_PRELOAD": FAULT_LIBRARY, "LENBENCH_CLOCK_STEP": "3600"}).returncode, 0)


class Descriptors(Measuring):
    def test_closed_standard_descriptors_never_become_the_record_file(self):
        for closed, code in (("<&-", 0), ("2>&-", 0), (">&-", 3), ("<&- >&- 2>&-", 3)):
            path = self.path("r.jsonl")
            redirect = closed + ("" if ">&-" in closed.replace("2>&-", "") else " > /dev/null")
            done = subprocess.run(["bash", "-c", f'"$0" "$@" {redirect}', PROGRAM, *measuring(path)], check=False,
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, code, f"{closed}: {done.stderr}")
            self.assertIsNone(problem_with(path, [], self.whole), closed)
            self.assertEqual(len(lines_of(path)[0]), len(self.whole), closed)
            self.assertEqual(lines_of(path)[1], b"", closed)
            os.remove(path)

    def test_a_reader_that_leaves_costs_no_record(self):
        path = self.path("r.jsonl")
        done = subprocess.run(["bash", "-c", '"$0" "$@" | true; echo ${PIPESTATUS[0]}', PROGRAM, *measuring(path)], check=True,
                              capture_output=True, text=True)
        self.assertEqual(done.stdout.strip(), "0", done.stderr)
        self.assertEqual([answer_of(line) for line in lines_of(path)[0]], [answer_of(line) for line in self.whole])
        for words in (["gen", "recall", "--length", "4096", "--n", "50"], ["list", "tasks"], ["--help"]):
            done = subprocess.run(["bash", "-c", '"$0" "$@" | head -c 10 > /dev/null; echo ${PIPESTATUS[0]}', PROGRAM, *words],
                                  check=True, capture_output=True, text=True)
            self.assertEqual(done.stdout.strip(), "0", done.stderr)


class Locks(Measuring):
    def held(self, path, model):
        child = start(*measuring(path, model))
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.stderr.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        limit = time.monotonic() + 30
        while not lines_of(path)[0]:
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.005)
        return child

    def test_a_second_run_is_refused_and_not_after_kill_9_of_the_first(self):
        slow = f"exec:{sys.executable} {self.path('slow.py')}"
        with open(self.path("slow.py"), "w", encoding="utf-8") as file:
            file.write('import json, sys, time\nprint(json.dumps({"lenbench_exec": 1}), flush=True)\nsys.stdin.readline()\n'
                       'for line in sys.stdin:\n    request = json.loads(line)\n    time.sleep(0.1)\n'
                       '    print(json.dumps({"id": request["id"], "argmax": [[0] * len(s["rows"]) for s in request["samples"]]}),'
                       ' flush=True)\n')
        for model in ("sleepy:30", slow):
            path = self.path("r.jsonl")
            holder = self.held(path, model)
            second = run(*measuring(path, model))
            self.assertEqual(second.returncode, 2, second.stderr)
            self.one_error(second, "r.jsonl")
            holder.send_signal(signal.SIGKILL)
            holder.wait()
            # At once: neither the lock nor a child that outlives its parent may hold the file.
            after = run(*measuring(path, model))
            self.assertEqual(after.returncode, 0, after.stderr)
            self.assertEqual(len(lines_of(path)[0]), len(self.whole))
            os.remove(path)


if __name__ == "__main__":
    unittest.main()
