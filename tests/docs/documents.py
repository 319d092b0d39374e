"""Runs the commands that a document shows, and compares what they print with what it shows.

    documents.py PROGRAM DOCUMENT.md ...

Every line of a ```sh block is run in a scratch folder; a document's blocks share one. What a test needs beyond that is
said in an HTML comment before the block, which readers of the document do not see:

    <!-- test
    make book.txt my_checkpoint       files the reader has: the names of FIXTURES
    first COMMAND                     run before the block, for what an earlier page or job would have made
    swap OLD => NEW                   shortens: in the block's commands OLD becomes NEW, and must occur
    skip TEXT because REASON          the one command that contains TEXT is not run
    needs MODULE for TEXT             ... is not run where that Python module is missing
    exit N for TEXT                   ... ends with code N and not with 0
    from COMMAND                      before a text block: it shows what COMMAND prints, however that ends
    prints                            the table or block that follows shows what the commands before it print
    -->

A ```text block shows output by default: each of its lines, numbers and widths aside, must be printed, in that order; '...'
stands for any lines. Behind `prints`, a ```json block must have the printed object's keys, and a Markdown table its header.
Commands quoted within a sentence must name an existing command with existing flags, and quoted paths of this repository must
exist. A directive that applies to nothing is an error, so none outlives the command that it was for.
"""

import argparse
import array
import functools
import json
import math
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT_S = 120
FENCE = re.compile(r"^```(\w*)\s*$")


class Failure(Exception):
    """A document that does not say what happens."""


class Block:
    """One fenced block, or a Markdown table behind `prints`."""

    def __init__(self, kind, line, text, directives):
        self.kind, self.line, self.text, self.directives = kind, line, text, directives


def parse(text):
    """The blocks of a document in order, each with the directives of the comments before it."""
    blocks, directives, lines, at = [], [], text.splitlines(), 0
    while at < len(lines):
        line = lines[at]
        if line.strip() == "<!-- test":
            end = next((i for i in range(at + 1, len(lines)) if lines[i].strip() == "-->"), None)
            if end is None:
                raise Failure(f"line {at + 1}: a comment without end")
            directives += [(number + 1, lines[number].strip()) for number in range(at + 1, end) if lines[number].strip()]
            at = end
        elif FENCE.match(line):
            end = next((i for i in range(at + 1, len(lines)) if lines[i].strip() == "```"), None)
            if end is None:
                raise Failure(f"line {at + 1}: a block without end")
            blocks.append(Block(FENCE.match(line).group(1), at + 1, "\n".join(lines[at + 1:end]), directives))
            directives, at = [], end
        elif line.startswith("|") and any(words == "prints" for _, words in directives):
            blocks.append(Block("table", at + 1, line, directives))
            directives = []
        at += 1
    if directives:
        raise Failure(f"line {directives[0][0]}: '{directives[0][1]}' stands before no block")
    return blocks


def split_commands(text):
    """The commands of a shell block: (line within the block, command), as bash itself would find their ends."""
    commands, pending, start = [], "", 0
    for number, line in enumerate(text.splitlines()):
        if not pending and (not line.strip() or line.lstrip().startswith("#")):
            continue
        start = start if pending else number
        pending += line + "\n"
        checked = subprocess.run(["bash", "-n", "-c", pending], capture_output=True, text=True, check=False)
        if line.endswith("\\") or checked.returncode != 0 or checked.stderr:
            continue
        commands.append((start, pending.strip()))
        pending = ""
    if pending:
        raise Failure(f"a command without end: {pending.strip()}")
    return commands


def shape(line):
    """A printed line with numbers, hashes and widths taken out."""
    line = re.sub(r"\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{7,64}\b(-dirty)?", "#", line)
    line = re.sub(r"(?<![\w.])[-+]?\d[\d,]*(\.\d+)?(e[-+]?\d+)?", "#", line)
    line = re.sub(r":?-{2,}:?", "-", line)
    return re.sub(r"\s+", " ", line).strip()


def missing_line(shown, printed):
    """The first of the shown lines that was not printed in its turn, or None."""
    printed_shapes = [shape(line) for line in printed.splitlines() if line.strip()]
    wanted = []
    for line in shown.splitlines():
        if line.strip() and line.strip() != "..." and (not wanted or shape(line) != shape(wanted[-1])):
            wanted.append(line)
    at = 0
    for line in wanted:
        while at < len(printed_shapes) and printed_shapes[at] != shape(line):
            at += 1
        if at == len(printed_shapes):
            return line
    return None


def cells(row):
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def printed_json(printed):
    """The first JSON object among the printed lines, or all of them as one."""
    for text in [printed] + printed.splitlines():
        try:
            value = json.loads(text)
        except ValueError:
            continue
        if isinstance(value, dict):
            return value
    return None


def missing_key(shown, printed, path=""):
    """The first key that only one of two JSON objects has, or None."""
    if isinstance(shown, dict) and isinstance(printed, dict):
        for key in list(shown) + list(printed):
            if key not in shown or key not in printed:
                return f"{path}{key}"
            found = missing_key(shown[key], printed[key], f"{path}{key}.")
            if found:
                return found
    if isinstance(shown, list) and isinstance(printed, list) and shown and printed:
        return missing_key(shown[0], printed[0], f"{path}0.")
    return None


TINY_RECIPE = {
    "name": "tiny", "method": "asentmax", "seed": 3, "steps": 4, "batch": 4,
    "model": {"architectures": ["SparseGemma2ForCausalLM"], "model_type": "gemma2", "hidden_size": 16,
              "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4,
              "head_dim": 4, "hidden_activation": "gelu_pytorch_tanh", "rms_norm_eps": 1e-6, "tie_word_embeddings": False,
              "attn_logit_softcapping": None, "final_logit_softcapping": None, "apply_rotary": False, "apply_nape": True,
              "entmax_alpha": 1.5, "attn_scale_type": "adapt-softplus-tanh", "attn_scale_proj_bias": True},
    "optimizer": {"learning_rate": 0.01, "warmup_steps": 2},
    "lengths": {"low": 64, "high": 64, "grow_from": 64, "grow_until": 0.5},
    "sources": [{"task": "recall", "weight": 1}],
    "validation": {"task": "recall", "length": 64, "samples": 4, "every_steps": 4},
    "log_every_steps": 2, "save_every_steps": 4,
}

MY_MODEL = '''
import sys
sys.path.insert(0, {python!r})
from lenbench import adapter
import numpy


def logits(ids):
    return numpy.eye(390)[(ids + 1) % 390]


def make_model():
    import torch

    class Next(torch.nn.Module):
        def forward(self, ids):
            return torch.nn.functional.one_hot((ids + 1) % 390, 390).float()
    return Next()


if __name__ == "__main__":
    adapter.serve(logits, name="mine", vocab_size=390)
'''


def copy_checkpoint(name):
    return lambda path: shutil.copytree(ROOT / "results" / "checkpoints" / name, path)


def corpus_part(low, high):
    text = (ROOT / "results" / "corpora" / "genesis.txt").read_bytes()
    return lambda path: path.write_bytes(text[low:high])


def write_llama(vocab_size):
    """A random decoder of one layer that reads long texts, in Hugging Face's layout."""
    hidden, inner, head = 16, 32, 8
    shapes = {"model.embed_tokens.weight": [vocab_size, hidden], "model.norm.weight": [hidden]}
    for name, rows, columns in (("self_attn.q_proj", hidden, hidden), ("self_attn.k_proj", head, hidden),
                                ("self_attn.v_proj", head, hidden), ("self_attn.o_proj", hidden, hidden),
                                ("mlp.gate_proj", inner, hidden), ("mlp.up_proj", inner, hidden),
                                ("mlp.down_proj", hidden, inner)):
        shapes[f"model.layers.0.{name}.weight"] = [rows, columns]
    shapes["model.layers.0.input_layernorm.weight"] = shapes["model.layers.0.post_attention_layernorm.weight"] = [hidden]
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "hidden_size": hidden,
              "intermediate_size": inner, "max_position_embeddings": 131072, "num_attention_heads": 2, "head_dim": head,
              "num_hidden_layers": 1, "num_key_value_heads": 1, "rms_norm_eps": 1e-6, "rope_theta": 10000.0,
              "tie_word_embeddings": True, "torch_dtype": "float32", "vocab_size": vocab_size, "bos_token_id": 1,
              "eos_token_id": 2}

    def write(path):
        random_numbers, header, data = random.Random(5), {}, b""
        for name, shape_of in sorted(shapes.items()):
            values = array.array("f", (random_numbers.gauss(0, 0.3) for _ in range(math.prod(shape_of)))).tobytes()
            header[name] = {"dtype": "F32", "shape": shape_of, "data_offsets": [len(data), len(data) + len(values)]}
            data += values
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        path.mkdir()
        (path / "config.json").write_text(json.dumps(config), encoding="utf-8")
        (path / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    return write


def paper_outputs(path):
    """What the paper's training code leaves: a Lightning checkpoint and its configuration."""
    sys.path.insert(0, str(ROOT / "tests" / "python"))
    import convert_asentmax_test as made

    config, tensors = made.reference("asentmax-nape")
    run = path / "2025-01-01"
    (run / "checkpoints").mkdir(parents=True)
    (run / ".hydra").mkdir()
    made.torch_file(str(run / "checkpoints" / "last.ckpt"), {"state_dict": made.state_of(tensors), "global_step": 1000})
    # JSON is YAML, too.
    (run / ".hydra" / "config.yaml").write_text(json.dumps({"model": {"net": made.net_of(config)}}), encoding="utf-8")


def write_tokenizer(path):
    """Bytes as tokens behind one start mark, as a tokenizer.json."""
    alphabet = [chr(b) for b in range(33, 127)] + [chr(b) for b in range(161, 173)] + [chr(b) for b in range(174, 256)]
    alphabet += [chr(256 + i) for i in range(256 - len(alphabet))]
    vocabulary = {"<s>": 0, **{letter: number + 1 for number, letter in enumerate(alphabet)}}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}
    path.write_text(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "normalizer": None, "post_processor": None,
        "added_tokens": [{"id": 0, "content": "<s>", "single_word": False, "lstrip": False, "rstrip": False,
                          "normalized": False, "special": True}],
        "pre_tokenizer": byte_level, "decoder": byte_level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": vocabulary, "merges": []}}), encoding="utf-8")


FIXTURES = {
    "my_checkpoint": copy_checkpoint("recall-asentmax-nape"),
    "other_checkpoint": copy_checkpoint("recall-softmax-nape"),
    "Llama-3.2-1B": write_llama(390),
    "my_llama": write_llama(257),
    "outputs": paper_outputs,
    "tokenizer.json": write_tokenizer,
    "book.txt": corpus_part(0, 4000),
    "letters.txt": corpus_part(4000, 7000),
    "tiny.json": lambda path: path.write_text(json.dumps(TINY_RECIPE), encoding="utf-8"),
    "my_model.py": lambda path: path.write_text(MY_MODEL.format(python=str(ROOT / "python")), encoding="utf-8"),
    "adapter.py": lambda path: shutil.copy(ROOT / "python" / "lenbench" / "adapter.py", path),
}


@functools.cache
def python_for_models():
    """An interpreter with numpy: this one, else the system's."""
    for candidate in (sys.executable, "/usr/bin/python3"):
        if os.path.exists(candidate) and subprocess.run([candidate, "-c", "import numpy"], capture_output=True,
                                                        check=False).returncode == 0:
            return candidate
    raise Failure("no Python with numpy was found, which the documents' models need: install python3-numpy")


class Workplace:
    """The scratch folder of one document."""

    def __init__(self, folder, program):
        self.folder, self.exports = pathlib.Path(folder), []
        for name in ("results", "tools", "docs", "tests", "python"):
            (self.folder / name).symlink_to(ROOT / name)
        programs = self.folder / "build" / "release" / "bin"
        programs.mkdir(parents=True)
        (programs / "lenbench").symlink_to(program)
        self.environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1",
                            "HOME": str(self.folder / "home"), "NO_COLOR": "1",
                            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))}
        (self.folder / "home").mkdir()

    def provide_python(self):
        for name in ("python", "python3"):
            # A script and not a link: an environment finds its modules beside the interpreter that it is started as.
            script = self.folder / "build" / "release" / "bin" / name
            script.write_text(f'#!/bin/sh\nexec "{python_for_models()}" "$@"\n', encoding="utf-8")
            script.chmod(0o755)

    def run(self, command):
        """(exit code, standard output, standard error, seconds)"""
        if "python" in command:
            self.provide_python()
        if command.startswith("export "):
            self.exports.append(command)
        script = "\n".join(["set -o pipefail"] + self.exports + [command])
        began = time.monotonic()
        try:
            done = subprocess.run(["bash", "-c", script], cwd=self.folder, env=self.environment, capture_output=True,
                                  stdin=subprocess.DEVNULL, text=True, timeout=LIMIT_S, check=False)
        except subprocess.TimeoutExpired as slow:
            raise Failure(f"takes longer than {LIMIT_S} s: {command}") from slow
        return done.returncode, done.stdout, done.stderr, time.monotonic() - began

    def has_module(self, name):
        """Whether the documents' Python has it, or the one that tools/setup.sh --figures makes."""
        figures = os.path.join(self.environment["XDG_CACHE_HOME"], "lenbench", "figures", "bin", "python")
        return any(subprocess.run([python, "-c", f"import {name}"], capture_output=True, check=False).returncode == 0
                   for python in (python_for_models(), figures) if os.path.exists(python))


def target(commands, text, rule):
    """The one command that contains `text`."""
    found = [index for index, (_, command) in enumerate(commands) if text in command]
    if len(found) != 1:
        raise Failure(f"'{rule}': {len(found)} commands of the block contain it, not one")
    return found[0]


class Document:
    """One document's commands, run in order."""

    def __init__(self, path, program, say=print):
        self.path, self.program, self.say = pathlib.Path(path), program, say
        self.num_run, self.num_skipped, self.printed = 0, 0, ""

    def run(self):
        text = self.path.read_text(encoding="utf-8")
        self.check_quoted_commands(text)
        self.check_quoted_paths(text)
        with tempfile.TemporaryDirectory(prefix="lenbench-docs-") as folder:
            place = Workplace(folder, self.program)
            for block in parse(text):
                try:
                    self.run_block(block, place)
                except Failure as failure:
                    raise Failure(f"{self.path.name}:{block.line}: {failure}") from failure

    def run_block(self, block, place):
        if block.kind in ("sh", "bash", "shell"):
            self.run_commands(block, place)
            return
        prints = False
        for _, rule in block.directives:
            word, _, rest = rule.partition(" ")
            if rule == "prints":
                prints = True
            elif word == "from" and rest and block.kind == "text":
                _, out, errors, _ = place.run(rest)
                self.num_run += 1
                self.printed = out + errors
            elif word == "make":
                self.make(rest, place, rule)
            else:
                raise Failure(f"'{rule}' is for a block of commands")
        if block.kind == "python":
            compile(block.text, f"{self.path.name}:{block.line}", "exec")
        if block.kind == "text" or (prints and not block.kind):
            line = missing_line(block.text, self.printed)
            if line is not None:
                raise Failure(f"shows a line that the commands before it do not print: {line}\nprinted:\n{self.printed}")
        if block.kind == "table" and cells(block.text) not in [cells(row) for row in self.printed.splitlines()]:
            raise Failure(f"shows a table that the commands before it do not print: {block.text}\nprinted:\n{self.printed}")
        if block.kind == "json" and prints:
            printed = printed_json(self.printed)
            key = "an object" if printed is None else missing_key(json.loads(block.text), printed)
            if key:
                raise Failure(f"shows or lacks '{key}', other than what the commands before it print:\n{self.printed}")

    @staticmethod
    def make(names, place, rule):
        for name in names.split():
            if name not in FIXTURES:
                raise Failure(f"'{rule}': no fixture '{name}' (known: {', '.join(FIXTURES)})")
            FIXTURES[name](place.folder / name)

    def run_commands(self, block, place):
        commands = split_commands(block.text)
        exits, skips, swaps = {}, {}, []
        for _, rule in block.directives:
            word, _, rest = rule.partition(" ")
            if word == "make":
                self.make(rest, place, rule)
            elif word == "first":
                code, _, errors, _ = place.run(rest)
                if code != 0:
                    raise Failure(f"'{rule}' ended with {code}: {errors}")
            elif word == "swap" and " => " in rest:
                old, _, new = rest.partition(" => ")
                if old not in block.text:
                    raise Failure(f"'{rule}': the block does not have it")
                swaps.append((old, new))
            elif word == "skip" and " because " in rest:
                text, _, reason = rest.partition(" because ")
                skips[target(commands, text, rule)] = reason
            elif word == "needs" and " for " in rest:
                module, _, text = rest.partition(" for ")
                index = target(commands, text, rule)
                if not place.has_module(module):
                    skips[index] = f"this Python has no module {module}"
            elif word == "exit" and " for " in rest:
                code, _, text = rest.partition(" for ")
                exits[target(commands, text, rule)] = int(code)
            else:
                raise Failure(f"'{rule}' is no directive")
        self.printed = ""
        for index, (line, command) in enumerate(commands):
            where = f"{self.path.name}:{block.line + 1 + line}"
            if index in skips:
                self.num_skipped += 1
                self.say(f"skip {where}: {skips[index]}: {command}")
                continue
            for old, new in swaps:
                command = command.replace(old, new)
            code, out, errors, seconds = place.run(command)
            self.num_run += 1
            self.say(f"{seconds:5.1f} s {where}: {command}")
            wanted = exits.get(index, 0)
            if code != wanted:
                raise Failure(f"{where} ended with {code}, not {wanted}: {command}\n{errors}")
            self.require_output_file(command, place, where)
            self.printed += out + errors

    @staticmethod
    def require_output_file(command, place, where):
        for name in re.findall(r"(?:\s-o|--output|--junit|--markdown)\s+([\w./-]+)", command.split("#")[0]):
            if "$" not in name and not (place.folder / name).exists():
                raise Failure(f"{where} made no {name}: {command}")

    def check_quoted_paths(self, text):
        """`docs/x.md` and the like exist; '*' and capitals stand for any name."""
        for quoted in re.findall(r"`((?:docs|tools|src|tests|tasks|results|python)/[\w./*-]*)`", text):
            pattern = re.sub(r"[A-Z]{3,}", "*", quoted) if "README" not in quoted else quoted
            if not any(ROOT.glob(pattern.rstrip("/"))):
                raise Failure(f"{self.path.name}: there is no {quoted}")

    def check_quoted_commands(self, text):
        """`lenbench ...` within a sentence: its command and flags exist."""
        prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
        helps = {}
        for quoted in re.findall(r"`lenbench ([^`]*)`", prose):
            words = quoted.split()
            command = words[0] if words else ""
            if command in ("COMMAND", "--help", "--version") or command.startswith("-"):
                continue
            if command not in helps:
                done = subprocess.run([self.program, command, "--help"], capture_output=True, text=True, check=False)
                if done.returncode != 0:
                    raise Failure(f"{self.path.name}: `lenbench {quoted}`: {done.stderr.strip()}")
                helps[command] = done.stdout
            for flag in re.findall(r"(?<!\S)(--[a-z][\w-]*|-[a-z])\b", quoted):
                if not re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", helps[command]):
                    raise Failure(f"{self.path.name}: `lenbench {quoted}`: no flag {flag}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("documents", nargs="+")
    options = parser.parse_args()
    failed = False
    for path in options.documents:
        document = Document(path, os.path.abspath(options.program))
        try:
            document.run()
        except Failure as failure:
            print(f"FAILED {failure}", file=sys.stderr)
            failed = True
        print(f"{path}: {document.num_run} commands run, {document.num_skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
