"""Locales, terminals, homes, paths and plans as they come: the same bytes everywhere."""

import os
import pty
import resource
import select
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import PROGRAM, SANITIZED, Folder, answer_of, lines_of, run  # noqa: E402


class Commands(Folder):
    def done(self, *words, **more):
        finished = run(*words, **more)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return finished


class Locales(Commands):
    @unittest.skipUnless(shutil.which("localedef") and os.path.isdir("/usr/share/i18n/locales"), "no localedef to make locales with")
    def test_german_and_turkish_change_nothing(self):
        names = {"de_DE.UTF-8": "de_DE", "tr_TR.UTF-8": "tr_TR"}
        for name, source in names.items():
            subprocess.run(["localedef", "-i", source, "-f", "UTF-8", self.path(name)], check=True, capture_output=True)
        # The locales are really in force: the shell's own printf writes a comma.
        comma = subprocess.run(["bash", "-c", 'printf "%.1f" 1,5'], capture_output=True, text=True, check=True,
                               env={**os.environ, "LOCPATH": self.folder, "LC_ALL": "de_DE.UTF-8"})
        self.assertEqual(comma.stdout, "1,5")
        records = self.path("r.jsonl")
        measuring = ["run", "oracle:100", "--tasks", "recall,text", "--lengths", "64,128", "--samples", "3", "--quiet"]
        self.done(*measuring, "-o", records)
        commands = (["list", "tasks"], ["table", records], ["table", records, "--format", "csv"], ["table", records, "--format", "json"],
                    ["plot", "accuracy", records], ["show", "recall:64:0"], ["show", "--explain", "flip-flop"], ["--help"],
                    ["gen", "niah-bytes", "--length", "256", "--n", "2"], ["run", "ORACLE"], ["run", "oracle", "--tasks", "MQMTAR"])
        plain = [run(*words, environment={"LC_ALL": "C"}) for words in commands]
        for name in names:
            foreign = {"LOCPATH": self.folder, "LC_ALL": name, "LANG": name}
            for words, wanted in zip(commands, plain):
                got = run(*words, environment=foreign)
                self.assertEqual((got.returncode, got.stdout, got.stderr), (wanted.returncode, wanted.stdout, wanted.stderr), words)
            there = self.path(name + ".jsonl")
            self.done(*measuring, "-o", there, environment=foreign)
            self.assertEqual([answer_of(line) for line in lines_of(there)[0]], [answer_of(line) for line in lines_of(records)[0]])
            # What is half measured in one locale goes on in another.
            with open(there, "rb+") as file:
                file.truncate(len(lines_of(there)[0][0]) + 1)
            self.done(*measuring, "-o", there)
            self.assertEqual(len(lines_of(there)[0]), 4)


class Terminals(Commands):
    def on_a_terminal(self, environment, *words):
        """What the program writes to a terminal."""
        master, slave = pty.openpty()
        child = subprocess.Popen([PROGRAM, *words], stdin=slave, stdout=subprocess.DEVNULL, stderr=slave, close_fds=True,
                                 env={**{k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")}, **environment})
        os.close(slave)
        seen = b""
        while True:
            ready, _, _ = select.select([master], [], [], 30)
            self.assertTrue(ready, "nothing for 30 s")
            try:
                part = os.read(master, 65536)
            except OSError:
                break
            if not part:
                break
            seen += part
        os.close(master)
        child.wait()
        return seen

    def test_only_a_real_terminal_gets_escapes(self):
        words = ("run", "sleepy:5", "--lengths", "64,128", "--samples", "5")
        full = self.on_a_terminal({"TERM": "xterm"}, *words)
        self.assertIn(b"\x1b[K", full)
        self.assertIn(b"\x1b[1;36mnote:\x1b[0m", full)
        colourless = self.on_a_terminal({"TERM": "xterm", "NO_COLOR": "1"}, *words)
        self.assertNotIn(b"\x1b[1;36m", colourless)
        for environment in ({"TERM": "dumb"}, {}):
            plain = self.on_a_terminal(environment, *words)
            self.assertNotIn(b"\x1b", plain, environment)
            self.assertIn(b"recall", plain)
        self.assertNotIn("\x1b", run(*words, environment={"TERM": "xterm"}).stderr)

    def test_no_controlling_terminal(self):
        done = run("run", "oracle", "--lengths", "64", "--samples", "1", start_new_session=True)
        self.assertEqual(done.returncode, 0, done.stderr)


class Homes(Commands):
    def test_a_home_that_does_not_exist(self):
        records = self.path("r.jsonl")
        for home in ({"HOME": "/nonexistent"}, {"HOME": ""}, {}):
            environment = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME", "LENBENCH_CACHE")}
            environment.update(home)
            for words, codes in ((["list", "checkpoints"], {0}), (["run", "oracle", "--lengths", "64", "--samples", "1", "-o", records], {0}),
                                 (["report", records, "-o", self.path("r.html")], {0}),
                                 (["plot", "accuracy", records, "-o", self.path("r.vl.json")], {0}),
                                 (["plot", "accuracy", records, "-o", self.path("r.svg")], {0, 3})):
                done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False, env=environment)
                self.assertIn(done.returncode, codes, done.stderr)
                self.assertFalse(os.path.exists("/nonexistent"))


class Paths(Commands):
    def test_spaces_newlines_quotes_and_other_letters(self):
        for name in ("with space", "Größe-長さ-Ж", "new\nline", "quote'\"$HOME;*", "-dash", "%s%n", "\udcff\udcfe bytes"):
            folder = self.path(name)
            os.mkdir(folder)
            records, other = os.path.join(folder, "r x.jsonl"), os.path.join(folder, "s.jsonl")
            for path, model in ((records, "oracle:100"), (other, "oracle:64")):
                self.done("run", model, "--lengths", "64,128", "--samples", "3", "-o", path, "--quiet")
                again = self.done("run", model, "--lengths", "64,128", "--samples", "3", "-o", path)
                self.assertIn("2 of 2 cells are already in", again.stderr)
                self.assertEqual(len([line for line in again.stderr.splitlines() if line]), 1, again.stderr)
            baseline = os.path.join(folder, "ci.json")
            self.done("baseline", "write", records, "-o", baseline)
            self.done("check", records, "--baseline", baseline, "--junit", os.path.join(folder, "j.xml"), "--markdown",
                      os.path.join(folder, "m.md"))
            for words in (["table", records, other, "-o", os.path.join(folder, "t.md")],
                          ["report", records, "-o", os.path.join(folder, "r.html")],
                          ["plot", "accuracy", records, "-o", os.path.join(folder, "p.vl.json")], ["compare", records, other]):
                self.done(*words)
            text = os.path.join(folder, "book.txt")
            with open(text, "w", encoding="utf-8") as file:
                file.write("In the beginning was the word. " * 40)
            self.done("run", "oracle", "--tasks", "text", "--text", text, "--lengths", "64", "--samples", "2", "-o",
                      os.path.join(folder, "t.jsonl"))
            self.done("table", os.path.join(folder, "t.jsonl"))
            generated = os.path.join(folder, "set.jsonl")
            with open(generated, "wb") as file:
                subprocess.run([PROGRAM, "gen", "recall", "--length", "64", "--n", "3"], check=True, stdout=file)
            self.done("run", "oracle", "--data", generated, "-o", os.path.join(folder, "d.jsonl"))
            # An error stays one line, whatever the path.
            missing = run("table", os.path.join(folder, "missing.jsonl"))
            self.assertEqual((missing.returncode, missing.stderr.count("\n")), (2, 1), missing.stderr)


class Plans(Commands):
    def test_ten_thousand_cells_and_their_resumption(self):
        folder = self.folder
        if os.access("/dev/shm", os.W_OK):  # a sync of each Record costs a turn of the disk elsewhere
            memory = tempfile.TemporaryDirectory(dir="/dev/shm")
            self.addCleanup(memory.cleanup)
            folder = memory.name
        path = os.path.join(folder, "r.jsonl")
        seeds = ",".join(str(seed) for seed in range(100))
        lengths = ",".join(str(length) for length in range(64, 164))
        words = ("run", "blind", "--tasks", "parity", "--lengths", lengths, "--seed", seeds, "--samples", "1", "-o", path, "--quiet")
        began = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        self.done(*words, timeout=600)
        # Processor time, which other work on the machine does not lengthen; what grows with the square of the plan shows.
        if not SANITIZED:
            self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - began, 8)
        lines = lines_of(path)[0]
        self.assertEqual(len(lines), 10000)
        self.assertEqual(len(set(lines)), 10000)
        with open(path, "rb+") as file:  # half of it lost: the rest is measured again, and nothing twice
            file.truncate(sum(len(line) + 1 for line in lines[:5000]) + 17)
        self.done(*words, timeout=600)
        resumed = lines_of(path)[0]
        self.assertEqual(resumed[:5000], lines[:5000])
        self.assertEqual([answer_of(line) for line in resumed], [answer_of(line) for line in lines])
        self.done("table", path)


if __name__ == "__main__":
    unittest.main()
