"""Man pages and completions: made from the program's own words, so they must have every command and flag, and work."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PROGRAM = os.environ["LENBENCH_PROGRAM"]


def output_of(*words):
    return subprocess.run([PROGRAM, *words], check=True, capture_output=True, text=True).stdout


COMMANDS = re.findall(r"^  ([a-z]+) ", output_of("--help").split("Commands:")[1].split("Flags:")[0], re.M)


class SelfDescription(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        subprocess.run([sys.executable, os.path.join(ROOT, "tools", "self_description.py"), PROGRAM, cls.folder.name], check=True)
        cls.man = os.path.join(cls.folder.name, "man", "man1")

    def page(self, name):
        with open(os.path.join(self.man, name + ".1"), encoding="utf-8") as file:
            return file.read()

    def test_a_page_for_each_command_with_every_flag_and_example(self):
        self.assertGreater(len(COMMANDS), 15)
        self.assertEqual(len(os.listdir(self.man)), len(COMMANDS) + 1)
        for command in COMMANDS:
            page = self.page("lenbench-" + command).replace("\\-", "-").replace("\\e", "\\")
            text = output_of(command, "--help")
            for flag in re.findall(r"^  (-\S+)", text, re.M):
                self.assertIn(f".B {flag}", page)
            examples = text.split("Examples:\n")[1].strip("\n").splitlines()
            for example in examples:
                self.assertIn(example[2:], page)
            self.assertIn(f".TH \"LENBENCH-{command.upper()}\" 1", page)
        for command in COMMANDS:
            self.assertIn(f".B {command}\n", self.page("lenbench"))

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_groff_has_nothing_to_say(self):
        pages = sorted(os.path.join(self.man, name) for name in os.listdir(self.man))
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", *pages], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        shown = subprocess.run(["groff", "-man", "-Tascii", "-P-cbou", os.path.join(self.man, "lenbench-run.1")],
                               capture_output=True, text=True, check=True).stdout
        self.assertIn("--samples-at L=N", shown)
        self.assertIn("    --samples-at 16384=32,65536=8 -o out.jsonl", shown)

    def completed(self, *words):
        script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _lenbench; printf "%s\\n" "${COMPREPLY[@]}"'
        environment = {**os.environ, "PATH": os.path.dirname(PROGRAM) + ":" + os.environ["PATH"]}
        done = subprocess.run(["bash", "-c", script, "bash", os.path.join(self.folder.name, "bash-completion/completions/lenbench"),
                               "lenbench", *words], capture_output=True, text=True, check=True, env=environment)
        return done.stdout.split()

    def test_bash_completes_commands_flags_and_names(self):
        self.assertEqual(self.completed("ru"), ["run"])
        self.assertEqual(sorted(self.completed("")), sorted(COMMANDS + ["--help", "--version"]))
        self.assertEqual(self.completed("run", "--samp"), ["--samples", "--samples-at"])
        self.assertEqual(self.completed("run", "recall-sparsemax-n"), ["recall-sparsemax-nape"])
        self.assertEqual(self.completed("run", "oracle", "--tasks", "mqmt"), ["mqmtar"])
        self.assertEqual(self.completed("run", "oracle", "--transform", "ssm"), ["ssmax"])
        self.assertEqual(self.completed("reproduce", "note-1"), ["note-1"])
        kinds = self.completed("list", "")
        self.assertEqual(kinds[-7:], ["tasks", "transforms", "positions", "reports", "papers", "tables", "checkpoints"])
        for kind in kinds[-7:]:
            output_of("list", kind)

    def test_what_a_command_takes_is_something_to_list(self):
        with open(os.path.join(self.folder.name, "bash-completion/completions/lenbench"), encoding="utf-8") as file:
            kinds = set(re.findall(r'kind="?([a-z]+)"? ;;', file.read()))
        self.assertGreaterEqual(len(kinds), 4)
        for kind in kinds:
            self.assertTrue(output_of("list", kind), kind)


if __name__ == "__main__":
    unittest.main()
