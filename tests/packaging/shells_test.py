"""Completions in zsh and fish themselves: a key is pressed and the line that the shell then has is read."""

import os
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PROGRAM = os.environ["LENBENCH_PROGRAM"]
ON_PATH = os.path.dirname(PROGRAM) + ":/usr/local/bin:/usr/bin:/bin"
# What is typed in a folder with one file, and what completion makes of it.
CASES = {"lenbench ru": "lenbench run", "lenbench run --samples-": "lenbench run --samples-at",
         "lenbench run recall-sparsemax-n": "lenbench run recall-sparsemax-nape",
         "lenbench run oracle --tasks mqmt": "lenbench run oracle --tasks mqmtar", "lenbench list tra": "lenbench list transforms",
         "lenbench run ./my-rec": "lenbench run ./my-records.jsonl"}
SECONDS = 60


class Shells(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)
        self.share = os.path.join(self.folder, "share")
        self.work = os.path.join(self.folder, "work")
        os.mkdir(self.work)
        with open(os.path.join(self.work, "my-records.jsonl"), "w", encoding="utf-8"):
            pass
        subprocess.run([sys.executable, os.path.join(ROOT, "tools", "self_description.py"), PROGRAM, self.share], check=True)

    def zsh_line(self, settings, typed):
        """What stands on the line of an interactive zsh with `settings` after `typed` and a tabulator."""
        line = os.path.join(self.folder, "line")
        with open(os.path.join(self.folder, ".zshrc"), "w", encoding="utf-8") as file:
            file.write(f"{settings}\nPS1='ready> '\nkeep() {{ print -r -- \"$BUFFER\" > {line}; exit }}\nzle -N keep\n"
                       "bindkey '^I' complete-word\nbindkey '^X' keep\n")
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        environment = {"PATH": ON_PATH, "HOME": self.folder, "ZDOTDIR": self.folder, "TERM": "dumb"}
        shell = subprocess.Popen(["zsh", "-o", "no_global_rcs", "-i"], stdin=slave, stdout=slave, stderr=slave, env=environment,
                                 cwd=self.work, start_new_session=True)
        os.close(slave)
        seen, keys, limit = b"", typed.encode() + b"\t\x18", time.monotonic() + SECONDS
        while shell.poll() is None and time.monotonic() < limit:
            if select.select([master], [], [], 0.02)[0]:
                try:
                    seen += os.read(master, 65536)
                except OSError:
                    break
            if keys and b"ready> " in seen:
                os.write(master, keys)
                keys = b""
        shell.kill()
        shell.wait()
        self.assertTrue(os.path.exists(line), seen)
        with open(line, encoding="utf-8") as file:
            text = file.read().rstrip()
        os.remove(line)
        return text

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed (apt-get install zsh)")
    def test_zsh(self):
        installed = f"fpath=({self.share}/zsh/site-functions $fpath)\nautoload -U compinit\ncompinit -u -D"
        sourced = "source <(lenbench completion zsh)"
        for settings, typed in [(installed, typed) for typed in CASES] + [(sourced, typed) for typed in list(CASES)[:2]]:
            with self.subTest(settings=settings, typed=typed):
                self.assertEqual(self.zsh_line(settings, typed), CASES[typed])

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed (apt-get install fish)")
    def test_fish(self):
        environment = {"PATH": ON_PATH, "HOME": self.folder, "XDG_DATA_DIRS": self.share + ":/usr/share", "TERM": "dumb"}
        for typed, wanted in CASES.items():
            with self.subTest(typed=typed):
                done = subprocess.run(["fish", "-c", f"complete -C '{typed}'"], env=environment, capture_output=True, text=True,
                                      check=True, stdin=subprocess.DEVNULL, cwd=self.work, timeout=SECONDS)
                offered = [line.split("\t")[0] for line in done.stdout.splitlines()]
                self.assertEqual(offered, [wanted.split()[-1]])


if __name__ == "__main__":
    unittest.main()
