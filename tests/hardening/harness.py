"""What the tests of kills and faults share: starting the program, and comparing what two runs measured."""

import hashlib
import json
import os
import subprocess
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PROGRAM = os.environ.get("LENBENCH_PROGRAM", os.path.join(ROOT, "build", "release", "bin", "lenbench"))
FAULT_LIBRARY = os.environ.get("LENBENCH_FAULT_LIBRARY", os.path.join(ROOT, "build", "release", "lib", "liblenbench_fault.so"))

# The program has a sanitizer in it, whose time and memory are not the program's.
SANITIZED = "LENBENCH_SANITIZE" in os.environ


class Folder(unittest.TestCase):
    """Tests with a folder of their own each, removed at the end."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)


def start(*words, environment=None, **more):
    more.setdefault("stdout", subprocess.PIPE)
    more.setdefault("stderr", subprocess.PIPE)
    # A session of its own: signals for the test are not for it.
    return subprocess.Popen([PROGRAM, *words], stdin=subprocess.DEVNULL, env={**os.environ, **(environment or {})}, **more)


def run(*words, environment=None, timeout=120, **more):
    """The finished process, with text in stdout and stderr."""
    more.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False, timeout=timeout,
                          env={**os.environ, **(environment or {})}, **more)


def lines_of(path):
    """Whole lines of a file, and the bytes behind the last line feed."""
    if not os.path.exists(path):
        return [], b""
    with open(path, "rb") as file:
        *lines, rest = file.read().split(b"\n")
    return lines, rest


def answer_of(line):
    """A Record without what may differ between two measurements of the same cell."""
    record = json.loads(line)
    for name in ("seconds", "peak_bytes"):
        del record["measurement"][name]
    del record["setting"]
    return record


def problem_with(path, kept, whole):
    """What is wrong with the Record file of a run that was disturbed, or None.

    kept: its whole lines before the disturbance; whole: the lines of an undisturbed run. Whatever was there must still be there,
    byte for byte, and every line must be the one that the undisturbed run has in that place.
    """
    lines, rest = lines_of(path)
    if lines[:len(kept)] != kept:
        return f"{path}: a Record that was on disk is gone or changed"
    if len(lines) > len(whole):
        return f"{path}: {len(lines)} Records where {len(whole)} were asked for"
    for number, (line, wanted) in enumerate(zip(lines, whole), 1):
        try:
            if answer_of(line) != answer_of(wanted):
                return f"{path}:{number}: another answer than that of the undisturbed run"
        except ValueError as error:
            return f"{path}:{number}: no Record: {error}"
    if rest and not rest.startswith(b'{"schema"'[:len(rest)]):
        return f"{path}: ends with {rest[:40]!r}"
    return None


def tiny_recipe(path, steps):
    """A training of seconds that saves often; returns `path`."""
    recipe = {
        "name": "tiny", "method": "asentmax", "seed": 3, "steps": steps, "batch": 8,
        "model": {"architectures": ["SparseGemma2ForCausalLM"], "model_type": "gemma2", "hidden_size": 16,
                  "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4,
                  "head_dim": 4, "hidden_activation": "gelu_pytorch_tanh", "rms_norm_eps": 1e-6, "tie_word_embeddings": False,
                  "attn_logit_softcapping": None, "final_logit_softcapping": None, "apply_rotary": False, "apply_nape": True,
                  "entmax_alpha": 1.5, "attn_scale_type": "adapt-softplus-tanh", "attn_scale_proj_bias": True},
        "optimizer": {"learning_rate": 0.01, "warmup_steps": 3},
        "lengths": {"low": 16, "high": 24, "grow_from": 16, "grow_until": 0.5},
        "sources": [{"task": "recall:keys=6,values=4,filler=4,queries=4,repeat=true", "weight": 1}],
        "validation": {"task": "recall:keys=6,values=4,filler=4,queries=2", "length": 24, "samples": 16, "every_steps": 4},
        "log_every_steps": 2, "save_every_steps": 2}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(recipe, file)
    return path


def training_result(folder):
    """What a finished training left, without times: hashes of the checkpoint and the log's steps and losses."""
    result = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            data = file.read()
        if name == "train_log.jsonl":
            lines = [json.loads(line) for line in data.splitlines()]
            result[name] = [{key: value for key, value in line.items() if "second" not in key} for line in lines]
        elif name == "origin.json":
            result[name] = {key: value for key, value in json.loads(data).items() if "second" not in key}
        else:
            result[name] = hashlib.sha256(data).hexdigest()
    return result
