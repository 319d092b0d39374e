"""The runner of documents must find what is wrong with one."""

import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import documents  # noqa: E402

PROGRAM = os.environ["LENBENCH_PROGRAM"]
RUN = "lenbench run oracle:64 --tasks recall --lengths 64,128 --samples 2 -o r.jsonl"


def run(text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "page.md"
        path.write_text(text, encoding="utf-8")
        document = documents.Document(path, PROGRAM, say=lambda line: None)
        document.run()
        return document


def block(*lines, kind="sh"):
    return "\n".join([f"```{kind}", *lines, "```", ""])


def directives(*lines):
    return "\n".join(["<!-- test", *lines, "-->", ""])


class Documents(unittest.TestCase):
    def fails(self, text, mention):
        with self.assertRaises(documents.Failure) as caught:
            run(text)
        self.assertIn(mention, str(caught.exception))

    def test_a_true_page_passes_and_is_counted(self):
        document = run("# Page\n\nSee `lenbench table --fit`.\n\n" + directives("swap --samples 2 => --samples 1") +
                       block(RUN, "lenbench table r.jsonl  # a comment", "", "# only a comment", "lenbench show \\",
                             "  recall:64:0") +
                       "Shows:\n\n" + block("| model     | 512 (1) | 1024 (2) |", "...", "| chance | 1.6 | 1.6 |", kind="text"))
        self.assertEqual((document.num_run, document.num_skipped), (3, 0))

    def test_a_wrong_flag_fails(self):
        self.fails(block("lenbench run oracle --lenghts 64"), "--lenghts")

    def test_a_command_that_fails_before_a_pipe_fails(self):
        self.fails(block("lenbench table nothing.jsonl | cat"), "ended with 2")

    def test_another_exit_code_than_declared_fails(self):
        page = directives("exit 2 for nothing") + block("lenbench table nothing.jsonl")
        self.assertEqual(run(page).num_run, 1)
        self.fails(page.replace("exit 2", "exit 3"), "not 3")

    def test_a_wrong_column_fails(self):
        shown = "| length | effective | n | exact | answer | {} | support | seconds |"
        page = block(RUN) + directives("prints")
        self.assertEqual(run(page + shown.format("entropy")).num_run, 1)
        self.fails(page + shown.format("entropies"), "a table that the commands")

    def test_a_line_that_is_not_printed_fails(self):
        page = block(RUN) + block("### oracle:999 on recall", kind="text")
        self.assertEqual(run(page).num_run, 1)
        self.fails(page.replace("on recall", "on recoil"), "a line that the commands")

    def test_a_quoted_error_must_be_the_one_that_its_cause_makes(self):
        page = directives("from lenbench table nothing.jsonl") + block("lenbench: error: nothing.jsonl: no such file", kind="text")
        self.assertEqual(run(page).num_run, 1)
        self.fails(page.replace("no such", "not a"), "a line that the commands")

    def test_json_keys_are_compared(self):
        page = block("lenbench show recall:64:0 --json | head -c 0; echo '{\"a\": 1, \"b\": {\"c\": 2}}'") + directives("prints")
        self.assertEqual(run(page + block('{"a": 5, "b": {"c": 0}}', kind="json")).num_run, 1)
        self.fails(page + block('{"a": 5, "b": {"d": 0}}', kind="json"), "b.d")
        self.fails(page + block('{"a": 5}', kind="json"), "'b'")

    def test_a_file_that_was_not_made_fails(self):
        self.fails(block("true -o never.txt"), "made no never.txt")

    def test_stale_and_unknown_directives_fail(self):
        page = block("lenbench list tasks")
        self.fails(directives("swap --samples 200 => --samples 2") + page, "does not have it")
        self.fails(directives("skip train because it is long") + page, "0 commands")
        self.fails(directives("skip list tasks") + page, "no directive")
        self.fails(directives("make castles") + page, "no fixture")
        self.fails(directives("first lenbench run oracle --lengths x") + page, "ended with 2")
        self.fails(page + directives("skip list because"), "before no block")

    def test_skipped_commands_are_counted(self):
        document = run(directives("skip train because it takes an hour") + block("lenbench list tasks", "lenbench train x"))
        self.assertEqual((document.num_run, document.num_skipped), (1, 1))

    def test_quoted_commands_must_exist(self):
        self.fails("Use `lenbench tabel x`.", "tabel")
        self.fails("Use `lenbench table --fti`.", "--fti")
        self.fails("Use `lenbench gen -q`.", "-q")

    def test_quoted_paths_must_exist(self):
        run("See `tools/setup.sh`, `results/records/*.jsonl` and `src/attention/position_NAME.cpp`.")
        self.fails("See `docs/nothing.md`.", "no docs/nothing.md")

    def test_python_must_compile(self):
        with self.assertRaises(SyntaxError):
            run(block("def f(:", kind="python"))


if __name__ == "__main__":
    unittest.main()
