"""The tokenizing tool: windows, bytes and boundaries by hand with a toy tokenizer, and once with the real library."""

import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = os.path.join(HERE, "..", "..", "tools")
TOOL = os.path.join(TOOLS, "tokenize_corpus.py")
LENBENCH = os.environ.get("LENBENCH_PROGRAM", "")
sys.path.insert(0, TOOLS)
import tokenize_corpus as tool  # noqa: E402


class Toy:
    """Characters are tokens, but "ab" is one: ids are code points, 1000 for "ab"."""

    sha256, vocab_size = "0" * 64, 70000

    def encode(self, text):
        ids, ends, at = [], [], 0
        while at < len(text):
            step = 2 if text.startswith("ab", at) else 1
            ids.append(1000 if step == 2 else ord(text[at]))
            at += step
            ends.append(at)
        return ids, ends

    def token_id(self, name):
        return {"<s>": 1}.get(name)


def byte_sample(prompt, answers, length=64):
    """As lenbench gen writes it: BOS, prompt, then answers with ", " between, of which only the answers are judged."""
    tokens, scored = [257, *prompt.encode()], []
    for number, answer in enumerate(answers):
        tokens += b", " if number else b""
        for byte in answer.encode():
            scored.append({"position": len(tokens) - 1, "target": byte, "answer": number, "fed_back": True})
            tokens.append(byte)
    scored[-1]["fed_back"] = False
    return {"address": "niah-bytes:64:0", "length": length, "prompt_tokens": len(prompt) + 1, "tokens": tokens[:-1],
            "scored": scored, "facts": {"pairs": 2, "distance": 9}}


class Windows(unittest.TestCase):
    def test_with_bos_every_token_is_judged_once_and_the_tail_is_kept(self):
        windows = list(tool.text_windows([10, 11, 12, 13, 14], [1, 3, 4, 6, 9], 2, 1))
        self.assertEqual([w["tokens"] for w in windows], [[1, 10], [1, 12], [1]])
        self.assertEqual([[(r["position"], r["target"], r["fed_back"]) for r in w["scored"]] for w in windows],
                         [[(0, 10, True), (1, 11, False)], [(0, 12, True), (1, 13, False)], [(0, 14, False)]])
        self.assertEqual([w["facts"] for w in windows], [{"judged_bytes": 3, "offset": 0}, {"judged_bytes": 3, "offset": 3},
                                                         {"judged_bytes": 3, "offset": 6}])

    def test_without_bos_windows_overlap_by_one_token(self):
        windows = list(tool.text_windows([10, 11, 12, 13], [1, 3, 4, 6], 3, None))
        self.assertEqual([w["tokens"] for w in windows], [[10, 11], [12]])
        self.assertEqual([[(r["position"], r["target"]) for r in w["scored"]] for w in windows],
                         [[(0, 11), (1, 12)], [(0, 13)]])
        self.assertEqual([w["facts"]["judged_bytes"] for w in windows], [3, 2])
        self.assertEqual(list(tool.text_windows([10], [1], 3, None)), [])

    def test_ends_count_bytes_also_inside_a_character(self):
        # é is two bytes and one character; a tokenizer of bytes may end two tokens in it.
        self.assertEqual(tool.byte_ends("aéz", [1, 2, 2, 3]), [1, 3, 3, 4])
        self.assertEqual(tool.byte_ends("a€", [1]), [4])

    def test_bytes_of_all_windows_are_the_document(self):
        text = "cab ébb" * 7
        for length in (2, 3, 50):
            samples = list(tool.text_samples(Toy(), [("t", text)], [length], 1, 0))
            self.assertEqual(sum(s["facts"]["judged_bytes"] for s in samples), len(text.encode()))
            self.assertEqual({s["length"] for s in samples}, {length})
            self.assertLessEqual(max(len(s["tokens"]) for s in samples), length)
        self.assertEqual(len(list(tool.text_samples(Toy(), [("t", text)], [2], 1, 3))), 3)


class Samples(unittest.TestCase):
    def test_spans_are_what_was_judged(self):
        self.assertEqual(tool.spans_of(byte_sample("k is? ", ["12", "34"])),
                         [("k is? ", None), ("12", 0), (", ", None), ("34", 1)])

    def test_context_and_answers_are_encoded_apart(self):
        joined = tool.convert_sample(Toy(), byte_sample("xa", ["bc"]), 1)
        self.assertEqual(joined["tokens"], [1, ord("x"), ord("a"), ord("b")])
        self.assertEqual([(r["position"], r["target"], r["answer"], r["fed_back"]) for r in joined["scored"]],
                         [(2, ord("b"), 0, True), (3, ord("c"), 0, False)])
        self.assertEqual(joined["prompt_tokens"], 3)
        self.assertEqual(joined["facts"]["boundary_merge"], 1)
        self.assertEqual(tool.convert_sample(Toy(), byte_sample("xc", ["bc"]), 1)["facts"]["boundary_merge"], 0)
        merged = tool.convert_sample(Toy(), byte_sample("x", ["abab", "c"]), None)
        self.assertEqual([r["target"] for r in merged["scored"]], [1000, 1000, ord("c")])
        self.assertEqual([r["answer"] for r in merged["scored"]], [0, 0, 1])

    def test_lengths_count_the_new_tokens(self):
        samples = [byte_sample("abababab", ["7"]), byte_sample("xyz", ["7"])]
        converted = list(tool.converted_samples(Toy(), samples, 1))
        self.assertEqual([s["length"] for s in converted], [5, 5])
        self.assertEqual(converted[0]["facts"], {"pairs": 2, "bytes": 64, "boundary_merge": 0})

    def test_what_cannot_be_converted_is_refused(self):
        strange = byte_sample("xy", ["7"])
        strange["tokens"][1] = 258
        with self.assertRaisesRegex(tool.Refusal, "special token 258"):
            tool.spans_of(strange)
        split = byte_sample("é", ["7"])
        split["tokens"].pop(2)
        split["scored"][0]["position"] -= 1
        with self.assertRaisesRegex(tool.Refusal, "no UTF-8"):
            tool.spans_of(split)
        blanks = byte_sample("xy", ["7"])
        blanks["scored"].insert(0, {"position": 0, "target": 99, "answer": 0, "fed_back": False})
        with self.assertRaisesRegex(tool.Refusal, "other tokens"):
            tool.spans_of(blanks)
        for bos, part in (("<none>", "no token"), ("70000", "no token")):
            with self.assertRaisesRegex(tool.Refusal, part):
                tool.resolve_bos(Toy(), bos)
        self.assertEqual([tool.resolve_bos(Toy(), bos) for bos in ("<s>", "17", "none")], [1, 17, None])
        for text in ("", "1,2", "x", "4,-1"):
            with self.assertRaises(tool.Refusal):
                tool.parse_lengths(text)


class Whole(unittest.TestCase):
    def setUp(self):
        try:
            import tokenizers
        except ImportError:
            self.skipTest("tokenizers is not installed (PyPI)")
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        model = tokenizers.Tokenizer(tokenizers.models.BPE())
        model.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        model.decoder = tokenizers.decoders.ByteLevel()
        trainer = tokenizers.trainers.BpeTrainer(vocab_size=300, special_tokens=["<s>"], show_progress=False,
                                                 initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet())
        self.text = "The number filed under été is 1234567. " * 40
        model.train_from_iterator([self.text], trainer)
        model.post_processor = tokenizers.processors.TemplateProcessing(single="<s> $0", special_tokens=[("<s>", 0)])
        model.save(self.path("tokenizer.json"))
        with open(self.path("book.txt"), "w", encoding="utf-8") as file:
            file.write(self.text)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def run_tool(self, *arguments):
        return subprocess.run([sys.executable, TOOL, *arguments], capture_output=True, text=True, check=False, timeout=120)

    def lines(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def test_perplexity_of_equal_odds_is_the_vocabulary(self):
        done = self.run_tool("text", self.path("tokenizer.json"), self.path("book.txt"), "--lengths", "16,64", "--bos", "<s>",
                             "-o", self.path("out.jsonl"))
        self.assertEqual(done.returncode, 0, done.stderr)
        header, *samples = self.lines("out.jsonl")
        vocab = header["vocab_size"]
        self.assertGreater(vocab, 256)
        for length in (16, 64):
            of_length = [s for s in samples if s["length"] == length]
            self.assertEqual(sum(s["facts"]["judged_bytes"] for s in of_length), len(self.text.encode()))
            # One BOS, whatever the tokenizer's own template adds.
            self.assertTrue(all(s["tokens"].count(0) == 1 and s["tokens"][0] == 0 for s in of_length))
        if LENBENCH:
            run = subprocess.run([LENBENCH, "run", "uniform", "--data", self.path("out.jsonl"), "--json", "--samples", "999"],
                                 capture_output=True, text=True, check=False, timeout=120)
            self.assertEqual(run.returncode, 0, run.stderr)
            for record in map(json.loads, run.stdout.splitlines()):
                self.assertAlmostEqual(record["measurement"]["perplexity"], vocab, places=6)
                tokens = record["measurement"]["nll_tokens"]
                self.assertAlmostEqual(record["measurement"]["bits_per_byte"],
                                       tokens * math.log2(vocab) / len(self.text.encode()), places=9)

    @unittest.skipUnless(LENBENCH, "LENBENCH_PROGRAM is not set")
    def test_a_needle_is_asked_in_the_models_tokens(self):
        made = subprocess.run([LENBENCH, "gen", "niah-bytes", "--length", "600", "-n", "3"], capture_output=True, check=True)
        with open(self.path("needle.jsonl"), "wb") as file:
            file.write(made.stdout)
        done = self.run_tool("samples", self.path("tokenizer.json"), self.path("needle.jsonl"), "--bos", "<s>", "-o",
                             self.path("ids.jsonl"))
        self.assertEqual(done.returncode, 0, done.stderr)
        header, *samples = self.lines("ids.jsonl")
        self.assertEqual(header["task"], "niah-bytes-ids")
        import tokenizers
        model = tokenizers.Tokenizer.from_file(self.path("tokenizer.json"))
        originals = [json.loads(line) for line in made.stdout.decode().splitlines()[1:]]
        for sample, original in zip(samples, originals):
            answer = model.decode([row["target"] for row in sample["scored"]], skip_special_tokens=False)
            self.assertEqual(answer, bytes(row["target"] for row in original["scored"]).decode())
            self.assertIn(answer, model.decode(sample["tokens"][:sample["prompt_tokens"]], skip_special_tokens=False))
        run = subprocess.run([LENBENCH, "run", "oracle", "--data", self.path("ids.jsonl"), "--json"], capture_output=True,
                             text=True, check=False, timeout=120)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(json.loads(run.stdout)["outcomes"], "111")

    def test_mistakes_are_one_line(self):
        done = self.run_tool("text", self.path("book.txt"), self.path("book.txt"), "--lengths", "16", "--bos", "0", "-o",
                             self.path("out.jsonl"))
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        done = self.run_tool("samples", self.path("tokenizer.json"), self.path("book.txt"), "--bos", "0", "-o",
                             self.path("out.jsonl"))
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)


if __name__ == "__main__":
    unittest.main()
