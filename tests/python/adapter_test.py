"""The adapter against functions, modules and small fake servers; what it says is checked as lenbench reads it."""

import http.server
import io
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PYTHON = os.path.join(ROOT, "python")
ADAPTER = os.path.join(PYTHON, "lenbench", "adapter.py")
sys.path.insert(0, PYTHON)
from lenbench import adapter  # noqa: E402

try:
    import numpy
except ImportError:
    numpy = None
try:
    import torch
except ImportError:
    torch = None

VOCAB = 11


def request(samples, number=1, nats=False):
    return json.dumps({"type": "predict", "id": number, "nats": nats, "samples": samples}) + "\n"


def talk(command, requests):
    """Runs the adapter as lenbench would and returns its lines."""
    hello = json.dumps({"type": "hello", "lenbench_exec": 1}) + "\n"
    done = subprocess.run([sys.executable, ADAPTER] + command, input=hello + "".join(requests), capture_output=True,
                          text=True, timeout=120, check=False)
    return done, [json.loads(line) for line in done.stdout.splitlines()]


def chances(token):
    """The fake models' distribution after `token`: the next id is likeliest, and no two are equal."""
    raw = [1.0 + ((token + 1 - v) % VOCAB == 0) * 8 + v / 100 for v in range(VOCAB)]
    return [value / sum(raw) for value in raw]


SAMPLES = [{"tokens": [3, 4, 5], "rows": [0, 2], "targets": [4, 9]}, {"tokens": [7], "rows": [0], "targets": [8]},
           {"tokens": [1, 10, 2], "rows": [1, 2], "targets": [2, 3]}]
ARGMAX = [[(s["tokens"][r] + 1) % VOCAB for r in s["rows"]] for s in SAMPLES]
NATS = [[-math.log(chances(s["tokens"][r])[t]) for r, t in zip(s["rows"], s["targets"])] for s in SAMPLES]


class Protocol(unittest.TestCase):
    def test_an_exception_is_answered_and_the_next_request_too(self):
        output = io.StringIO()
        adapter._protocol_output, before = output, adapter._protocol_output
        stderr, sys.stderr = sys.stderr, io.StringIO()
        try:
            def predict(samples, nats):
                if samples[0]["tokens"] == [1]:
                    raise ValueError("no")
                if samples[0]["tokens"] == [2]:
                    raise MemoryError("large")
                return [[5]], None

            adapter.answer_requests(predict, {"name": "x"}, [
                '{"type":"hello","lenbench_exec":1}', '{"type":"later"}',
                *(request([{"tokens": [t], "rows": [0]}], number=t) for t in (1, 2, 3))])
        finally:
            adapter._protocol_output, sys.stderr = before, stderr
        lines = [json.loads(line) for line in output.getvalue().splitlines()]
        self.assertEqual(lines[0], {"lenbench_exec": 1, "name": "x"})
        self.assertEqual(lines[1], {"id": 1, "error": "ValueError: no", "out_of_memory": False})
        self.assertEqual(lines[2], {"id": 2, "error": "MemoryError: large", "out_of_memory": True})
        self.assertEqual(lines[3], {"id": 3, "argmax": [[5]]})

    def test_mistakes_on_the_command_line_are_one_line(self):
        for command, part in ((["server", "ftp://x"], "write http://"), (["function", "nothing.py:f"], "no FILE.py:NAME"),
                              (["server", "http://127.0.0.1:1"], "http://127.0.0.1:1/v1/models")):
            done, lines = talk(command, [])
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(lines, [])
            self.assertIn(part, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


class Judged(unittest.TestCase):
    def check(self, judge, array):
        logits = array([[0.0, 3.0, 3.0], [1.0, float("nan"), 0.0], [float("inf"), 0.0, 0.0], [1000.0, 0.0, 999.0]])
        argmax, nats = judge(logits, [0, 0, 0, 2])
        self.assertEqual(argmax, [1, None, None, 0])
        self.assertAlmostEqual(nats[0], math.log(1 + 2 * math.exp(3)), places=12)
        self.assertEqual(nats[1:3], [None, None])
        self.assertAlmostEqual(nats[3], math.log(1 + math.exp(-1) + math.exp(-1000)) + 1, places=12)
        self.assertEqual(judge(logits, None), ([1, None, None, 0], None))

    @unittest.skipIf(numpy is None, "numpy is not installed (python3-numpy)")
    def test_numpy(self):
        self.check(adapter.judge_numpy, lambda rows: numpy.array(rows, dtype=numpy.float32))

    @unittest.skipIf(torch is None, "torch is not installed")
    def test_torch(self):
        self.check(adapter.judge_torch, lambda rows: torch.tensor(rows, dtype=torch.float32))


class Functions(unittest.TestCase):
    def expect(self, command, source, hello):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"import sys\nsys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})\n" + source)
            command = [command[0], path + ":" + command[1], *command[2:]]
            done, lines = talk(command, [request(SAMPLES, 1), request(SAMPLES, 2, nats=True)])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(lines), 3, done.stderr)
        self.assertEqual({key: lines[0].get(key) for key in hello}, hello)
        self.assertEqual(len(lines[0]["hash"]), 64)
        self.assertEqual(lines[1], {"id": 1, "argmax": ARGMAX})
        self.assertEqual(lines[2]["argmax"], ARGMAX)
        for found, wanted in zip(sum(lines[2]["nats"], []), sum(NATS, [])):
            self.assertAlmostEqual(found, wanted, places=5)

    @unittest.skipIf(numpy is None, "numpy is not installed (python3-numpy)")
    def test_numpy_function(self):
        source = ("import numpy\nfrom adapter_test import chances\nprint('loading')\n"
                  "def logits(ids):\n"
                  "    return numpy.log([[chances(int(t)) for t in row] for row in ids])\n"
                  "def at_rows(ids, rows):\n"
                  "    return numpy.stack([logits(ids[b:b+1])[0, rows[b]] for b in range(len(ids))])\n")
        self.expect(["function", "logits", "--vocab-size", "11"], source, {"name": "logits", "vocab_size": 11, "nats": True})
        self.expect(["function", "at_rows", "--takes-rows", "--name", "r"], source, {"name": "r"})

    @unittest.skipIf(torch is None, "torch is not installed")
    def test_torch_module(self):
        source = ("import torch\nfrom adapter_test import chances, VOCAB\n"
                  "class Table(torch.nn.Module):\n"
                  "    def __init__(self):\n"
                  "        super().__init__()\n"
                  "        table = torch.tensor([chances(t) for t in range(VOCAB)])\n"
                  "        self.table = torch.nn.Parameter(table.log())\n"
                  "    def forward(self, ids): return (self.table[ids], 'more')\n")
        self.expect(["torch", "Table"], source, {"name": "Table", "num_parameters": 121, "dtype": "float32"})


class Handler(http.server.BaseHTTPRequestHandler):
    """A completions server over chances(); `style` decides which extensions it has."""

    def log_message(self, *_):
        pass

    def send(self, body, code=200):
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        models = [{"id": name, "max_model_len": 100} for name in self.server.models]
        self.send({"data": models})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append((self.path, body, self.headers.get("Authorization")))
        prompt = body["prompt"]
        if not all(isinstance(token, int) for token in prompt):
            return self.send({"error": "ids only"}, 400)
        if len(prompt) > 50:
            return self.send({"error": "context length exceeded"}, 400)
        if self.path == "/completion":
            odds = chances(prompt[-1])
            return self.send({"content": "?", "tokens": [odds.index(max(odds))] if body["return_tokens"] else []})
        choice = {"text": "?"}
        if body.get("prompt_logprobs"):
            choice["prompt_logprobs"] = [None]
            for before, token in zip(prompt, prompt[1:]):
                odds = chances(before)
                ranks = sorted(range(VOCAB), key=lambda v: -odds[v])
                choice["prompt_logprobs"].append({str(v): {"logprob": math.log(odds[v]), "rank": ranks.index(v) + 1}
                                                  for v in (token, ranks[0])})
        if body.get("echo"):
            values = [None] + [math.log(chances(a)[b]) for a, b in zip(prompt, prompt[1:])] + [-0.5]
            choice["logprobs"] = {"token_logprobs": values, "tokens": ["?"] * len(values)}
        return self.send({"choices": [choice]})


class Servers(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.models, self.server.seen = ["tiny"], []
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def tearDown(self):
        self.server.shutdown()
        self.server.server_close()

    def test_prompt_logprobs_gives_tokens_and_nats(self):
        followed = [SAMPLES[0] | {"rows": [0, 2]}, SAMPLES[1], {"tokens": [1, 10, 2], "rows": [1, 2], "targets": [2, 3]}]
        done, lines = talk(["server", self.url + "/v1"], [request(SAMPLES, 1), request(followed, 2, nats=True)])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(lines[0], {"lenbench_exec": 1, "name": "tiny", "nats": True, "max_batch": 1, "max_tokens": 98})
        self.assertEqual(lines[1], {"id": 1, "argmax": ARGMAX})
        for found, wanted in zip(sum(lines[2]["nats"], []), sum(NATS, [])):
            self.assertAlmostEqual(found, wanted, places=12)
        # The last target is asked for by writing it behind the text; without targets any token does.
        self.assertEqual([body["prompt"] for _, body, _ in self.server.seen[:3]], [[3, 4, 5, 5], [7, 7], [1, 10, 2, 2]])
        self.assertEqual(self.server.seen[3][1]["prompt"], [3, 4, 5, 9])

    def test_nats_of_another_token_than_the_next_are_refused(self):
        other = [{"tokens": [3, 4, 5], "rows": [0], "targets": [6]}]
        _, lines = talk(["server", self.url], [request(other, 1, nats=True)])
        self.assertIn("only of the token that follows", lines[1]["error"])

    def test_echo_gives_nats_only(self):
        _, lines = talk(["server", self.url, "--style", "echo"], [request(SAMPLES, 1), request(SAMPLES, 2, nats=True)])
        self.assertIn("only perplexity", lines[1]["error"])
        self.assertNotIn("argmax", lines[2])
        for found, wanted in zip(sum(lines[2]["nats"], []), sum(NATS, [])):
            self.assertAlmostEqual(found, wanted, places=12)

    def test_llama_cpp_gives_tokens_only(self):
        _, lines = talk(["server", self.url, "--style", "llama-cpp", "--name", "local"],
                        [request(SAMPLES, 1), request(SAMPLES, 2, nats=True)])
        self.assertEqual((lines[0]["name"], lines[0]["nats"]), ("local", False))
        self.assertEqual(lines[1], {"id": 1, "argmax": ARGMAX})
        self.assertIn("no nats", lines[2]["error"])
        self.assertEqual(self.server.seen[1][1]["prompt"], [3, 4, 5])

    def test_its_errors_and_models_are_named(self):
        long = [{"tokens": [1] * 60, "rows": [59]}]
        _, lines = talk(["server", self.url], [request(long, 1)])
        self.assertIn("answered 400", lines[1]["error"])
        self.assertIn("context length exceeded", lines[1]["error"])
        self.server.models = ["a", "b"]
        done, _ = talk(["server", self.url], [])
        self.assertIn("it has: a, b", done.stderr)
        done, lines = talk(["server", self.url, "--model", "b"], [request(SAMPLES, 1)])
        self.assertEqual(lines[0]["name"], "b")
        self.assertEqual(self.server.seen[-1][1]["model"], "b")

    def test_the_key_comes_from_the_environment(self):
        os.environ["FAKE_SERVER_KEY"] = "k1"
        try:
            talk(["server", self.url, "--key-variable", "FAKE_SERVER_KEY"], [request(SAMPLES, 1)])
        finally:
            del os.environ["FAKE_SERVER_KEY"]
        self.assertEqual(self.server.seen[-1][2], "Bearer k1")


if __name__ == "__main__":
    unittest.main()
