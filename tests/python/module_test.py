"""The Python module: Records as the program writes them, and modules saved as the program reads them."""

import json
import os
import subprocess
import sys
import unittest
import warnings

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "python"))
sys.path.insert(0, os.path.join(ROOT, "tests", "hardening"))
import lenbench  # noqa: E402
from harness import Folder  # noqa: E402

try:
    import pandas
except ImportError:
    pandas = None
try:
    import torch
except ImportError:
    torch = None

PROGRAM = os.environ["LENBENCH_PROGRAM"]


class Commands(Folder):
    def run_program(self, *words):
        return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)

    def measured(self, name="r.jsonl", model="oracle:100"):
        done = self.run_program("run", model, "--tasks", "recall", "--lengths", "64,128", "--samples", "5", "-o", self.path(name))
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.path(name)


class Records(Commands):
    def test_what_the_program_wrote_comes_back(self):
        path = self.measured()
        records = lenbench.read_records(path)
        self.assertEqual([r["question"]["length"] for r in records], [64, 128])
        self.assertEqual([r["measurement"]["exact"]["value"] for r in records], [1, 0])
        self.assertEqual(records[0]["outcomes"], "11111")
        with open(path, encoding="utf-8") as file:
            self.assertEqual(records, [json.loads(line) for line in file])

    def test_a_torn_last_line_is_left_out_with_a_warning(self):
        path = self.measured()
        with open(path, "rb+") as file:
            file.truncate(os.path.getsize(path) - 40)
        with self.assertWarnsRegex(UserWarning, r"r\.jsonl:2: the last \d+ bytes are no whole record"):
            self.assertEqual(len(lenbench.read_records(path)), 1)

    def test_a_whole_last_line_without_its_line_feed_counts(self):
        path = self.measured()
        with open(path, "rb+") as file:
            file.truncate(os.path.getsize(path) - 1)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(len(lenbench.read_records(path)), 2)

    def test_a_line_separator_inside_a_text_ends_no_line(self):
        path = self.measured()
        with open(path, encoding="utf-8") as file:
            text = file.read().replace("oracle:100", "oracle\u2028:100")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        self.assertEqual(lenbench.read_records(path)[0]["subject"]["name"], "oracle\u2028:100")

    def test_what_is_no_record_is_refused_with_its_line(self):
        with open(self.measured(), encoding="utf-8") as file:
            good = file.readline()
        for wrong, mention in (("[1]", "not a lenbench record"), ("{}", "not a lenbench record"), ("text", ":2: "),
                               (good.strip().replace('"schema":1', '"schema":7'), "schema 7 is newer than schema 1"),
                               ('{"schema":1,"schema":1}', "'schema' occurs twice"), ('{"schema":1,"x":NaN}', "NaN is no number")):
            path = self.path("wrong.jsonl")
            with open(path, "w", encoding="utf-8") as file:
                file.write(good + wrong + "\n")
            with self.assertRaisesRegex(lenbench.RecordError, "wrong.jsonl:2") as caught:
                lenbench.read_records(path)
            self.assertIn(mention, str(caught.exception))

    def test_all_bundled_records_are_read(self):
        folder = os.path.join(ROOT, "results", "records")
        for name in sorted(os.listdir(folder)):
            self.assertTrue(lenbench.read_records(os.path.join(folder, name)), name)

    @unittest.skipIf(pandas is None, "pandas is not installed")
    def test_a_frame_has_a_row_a_record(self):
        frame = lenbench.read_frame(self.measured(), self.measured("s.jsonl", "blind"))
        self.assertEqual(list(frame["length"]), [64, 128, 64, 128])
        self.assertEqual(list(frame["model"]), ["oracle:100"] * 2 + ["blind"] * 2)
        self.assertEqual(list(frame["exact"][:2]), [1, 0])
        bundled = lenbench.read_frame(os.path.join(ROOT, "results", "records", "recall-asentmax-nape.jsonl"))
        self.assertTrue(((bundled["normalized_entropy"] > 0) & (bundled["normalized_entropy"] < 1)).all())

    @unittest.skipIf(pandas is not None, "pandas is installed")
    def test_without_pandas_a_frame_says_what_to_install(self):
        with self.assertRaisesRegex(lenbench.RecordError, "pip install pandas"):
            lenbench.read_frame(self.measured())


@unittest.skipIf(torch is None, "torch is not installed")
class TorchScript(Commands):
    def test_the_program_measures_what_was_exported(self):
        class Next(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.table = torch.nn.Embedding(390, 390)

            def forward(self, ids):
                return self.table(ids)

        lenbench.export_torchscript(Next(), self.path("m.pt"), vocab_size=390, trace=True, name="mine", train_length=64)
        done = self.run_program("run", self.path("m.pt"), "--lengths", "64,128", "--samples", "2", "-o", self.path("r.jsonl"))
        self.assertEqual(done.returncode, 0, done.stderr)
        record = lenbench.read_records(self.path("r.jsonl"))[0]
        self.assertEqual((record["subject"]["name"], record["subject"]["train_length"]), ("mine", 64))
        lenbench.export_torchscript(Next(), self.path("s.pt"), vocab_size=390)

    def test_a_trace_of_one_length_a_future_reader_and_wrong_shapes_are_refused(self):
        class Fixed(torch.nn.Module):
            def forward(self, ids):
                table = torch.arange(int(ids.shape[1])).float()
                return torch.zeros(ids.shape[0], ids.shape[1], 7) + table[None, :, None]

        class Peeks(torch.nn.Module):
            def forward(self, ids):
                return torch.nn.functional.one_hot(ids.flip(1), 7).float()

        class Wide(torch.nn.Module):
            def forward(self, ids):
                return torch.nn.functional.one_hot(ids, 9).float()

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for module, mention in ((Fixed(), "length 48"), (Peeks(), "not causal"), (Wide(), "logits have shape")):
                with self.assertRaisesRegex(ValueError, mention):
                    lenbench.export_torchscript(module, self.path("no.pt"), vocab_size=7, trace=True)
        with self.assertRaisesRegex(ValueError, "unknown facts"):
            lenbench.export_torchscript(Wide(), self.path("no.pt"), vocab_size=9, nmae="x")
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    unittest.main()
