"""Training under kills and broken disks, and models in too little memory: what is resumed equals what was left alone."""

import errno
import json
import os
import random
import resource
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import FAULT_LIBRARY, SANITIZED, Folder, lines_of, run, start, tiny_recipe, training_result  # noqa: E402

# Of address space: LibTorch's files alone take more than 400 MiB.
LIMITS_MIB = (8000, 520, 450, 400, 300)


class Training(Folder):
    def setUp(self):
        super().setUp()
        self.train_undisturbed(steps=12)

    def train_undisturbed(self, steps):
        self.recipe = tiny_recipe(self.path("tiny.json"), steps=steps)
        done = run("train", self.recipe, "-o", self.path("whole"), "--quiet", "--overwrite")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.whole = training_result(self.path("whole"))

    def ends_like_the_undisturbed(self, folder):
        done = run("train", self.recipe, "-o", folder, "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(training_result(folder), self.whole)

    def test_kill_9_and_resume(self):
        self.train_undisturbed(steps=120)  # so many that a machine of any speed is killed before the end
        folder, randomly, kills = self.path("killed"), random.Random(3), 0
        for _ in range(20):
            child = start("train", self.recipe, "-o", folder, "--json-progress")
            child.stderr.readline()  # begun
            time.sleep(randomly.uniform(0, 0.3))
            child.kill()
            kills += child.wait() == -signal.SIGKILL
            child.stdout.close()
            child.stderr.close()
            if kills >= 3:
                break
        self.assertGreaterEqual(kills, 3)
        self.ends_like_the_undisturbed(folder)

    def test_an_interrupt_saves_and_says_so(self):
        folder = self.path("stopped")
        child = start("train", self.recipe, "-o", folder, "--json-progress", text=True)
        child.stderr.readline()
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=60)
        if child.returncode == 0:
            self.skipTest("the training was over first")
        self.assertEqual(child.returncode, 130, errors)
        self.assertIn("resumes from the state", errors)
        self.ends_like_the_undisturbed(folder)

    def test_broken_writes(self):
        for call, number, code in (("write", 1, errno.ENOSPC), ("write", 4, errno.EDQUOT), ("write", 9, errno.ENOSPC),
                                   ("fsync", 2, errno.EIO), ("rename", 2, errno.EIO)):
            folder = self.path(f"{call}-{number}")
            done = run("train", self.recipe, "-o", folder, "--quiet",
                       environment={"LD_PRELOAD": FAULT_LIBRARY, "LENBENCH_FAULT": f"{call}:{number}:{code}"})
            self.assertEqual(done.returncode, 3, f"{call} {number}: {done.stderr}")
            self.assertEqual(done.stderr.count("lenbench: error:"), 1, done.stderr)
            self.ends_like_the_undisturbed(folder)


MEMORY_GROUPS = ("/sys/fs/cgroup/memory", "/sys/fs/cgroup")  # of the first version, and of the second


@unittest.skipIf(SANITIZED, "a sanitizer's memory is not the program's")
class Memory(Folder):
    def memory_group(self, mebibytes):
        """A control group with this much memory and no swap, or a skipped test."""
        for parent in MEMORY_GROUPS:
            group = os.path.join(parent, f"lenbench-test-{os.getpid()}")
            try:
                os.mkdir(group)
            except OSError:
                continue
            self.addCleanup(os.rmdir, group)
            for names in (("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"), ("memory.max",)):
                try:
                    for name in names:
                        with open(os.path.join(group, name), "w", encoding="ascii") as file:
                            file.write(str(mebibytes << 20))
                    return group
                except OSError:
                    continue
        return self.skipTest("no memory control group can be made here")

    def test_a_group_that_is_too_small_costs_no_record_and_memory_fits_into_it(self):
        """The kernel kills what outgrows a container; --memory, which the documents name for it, does not."""
        group = self.memory_group(400)
        words = ["run", "recall-asentmax-nape", "--tasks", "recall", "--lengths", "64,128,2048", "--samples", "64", "--threads", "1",
                 "--probe", "none", "--quiet"]
        whole = self.path("whole.jsonl")
        self.assertEqual(run(*words, "-o", whole).returncode, 0)

        def inside():
            with open(os.path.join(group, "cgroup.procs"), "w", encoding="ascii") as file:
                file.write(str(os.getpid()))

        path = self.path("r.jsonl")
        killed = run(*words, "-o", path, preexec_fn=inside)
        self.assertEqual(killed.returncode, -signal.SIGKILL, killed.stderr)
        kept, rest = lines_of(path)
        self.assertEqual((len(kept), rest), (2, b""))
        done = run(*words, "--memory", "150MB", "-o", path, preexec_fn=inside)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(lines_of(path)[0][:2], kept)
        outcomes = [[json.loads(line)["outcomes"] for line in lines_of(name)[0]] for name in (path, whole)]
        self.assertEqual(outcomes[0], outcomes[1])

    def test_memory_that_ends_while_the_model_is_loaded_is_one_line(self):
        """Down to the limit at which LibTorch just fits, so that the weights do not, and below."""
        too_little, enough, refusals = 300, 600, 0
        while enough - too_little > 1:
            size = (too_little + enough) // 2

            def limit(mebibytes=size):
                resource.setrlimit(resource.RLIMIT_AS, (mebibytes << 20, mebibytes << 20))

            done = run("run", "recall-asentmax-nape", "--lengths", "64", "--samples", "1", "--threads", "1", "--probe", "none",
                       "--quiet", preexec_fn=limit)
            errors = done.stderr.splitlines()
            if done.returncode == 0:
                enough = size
                continue
            self.assertEqual(done.returncode, 3, done.stderr)
            refusals += 1
            if not errors:  # loaded, and then too little for the sample
                self.assertIn("out of memory", done.stdout)
                enough = size
                continue
            self.assertEqual(len(errors), 1, done.stderr)
            self.assertTrue(errors[0].startswith("lenbench: error: out of memory"), done.stderr)
            if "LibTorch" in errors[0] or "cannot load" in errors[0]:
                too_little = size
            else:
                enough = size
        self.assertGreaterEqual(refusals, 3)

    def test_too_little_memory_takes_smaller_batches_or_is_a_reason(self):
        """From plenty to too little: every outcome is a Record or one line, and never a crash."""
        words = ["run", "recall-asentmax-nape", "--tasks", "recall", "--lengths", "64,512", "--samples", "64", "--batch", "64",
                 "--threads", "1", "--probe", "none", "--quiet"]
        seen = {}
        for mebibytes in LIMITS_MIB:
            path = self.path(f"{mebibytes}.jsonl")

            def limit(size=mebibytes):
                resource.setrlimit(resource.RLIMIT_AS, (size << 20, size << 20))

            done = run(*words, "-o", path, preexec_fn=limit, timeout=300)
            records = [json.loads(line) for line in lines_of(path)[0]]
            self.assertIn(done.returncode, (0, 2, 3), done.stderr)
            self.assertEqual(lines_of(path)[1], b"")
            if not records:  # LibTorch itself did not fit
                self.assertEqual(done.stderr.count("lenbench: error:"), 1, done.stderr)
                seen[mebibytes] = "refused"
            for record in records:
                if record["status"] == "failed":
                    self.assertIn("out of memory", record["reason"])
                    seen[mebibytes] = "failed"
                else:
                    seen[mebibytes] = "smaller" if record["setting"]["batch"] < 64 else "fits"
        self.assertEqual(seen[max(LIMITS_MIB)], "fits")
        self.assertEqual(seen[min(LIMITS_MIB)], "refused")
        self.assertTrue(set(seen.values()) & {"smaller", "failed"}, seen)


if __name__ == "__main__":
    unittest.main()
