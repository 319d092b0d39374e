"""Damages a bundled checkpoint by known amounts and counts how often `lenbench check` notices.

    python3 tools/gate_experiment.py --lenbench build/release/bin/lenbench --work /tmp/gate -o results/gate/damage.json

Every model answers `seeds` x `samples` questions of each length. All of them together give the true drop of a damaged
checkpoint; each data seed alone is one run of the gate at n = `samples`, against the intact model's baseline on the same
addresses (paired) and on another seed's (unpaired). Needs nothing but Python and the program.
"""

import argparse
import array
import json
import math
import pathlib
import random
import shutil
import struct
import subprocess
import sys

CHECKPOINTS = pathlib.Path(__file__).resolve().parent.parent / "results" / "checkpoints"


class Weights:
    """A safetensors file of F16 tensors as lists of numbers."""

    def __init__(self, path):
        data = path.read_bytes()
        size = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8:8 + size])
        self.metadata = header.pop("__metadata__", None)
        self.shapes, self.values = {}, {}
        for name, entry in header.items():
            if entry["dtype"] != "F16":
                sys.exit(f"{path}: {name} is {entry['dtype']}; this script knows F16")
            first, last = entry["data_offsets"]
            count = (last - first) // 2
            self.shapes[name] = entry["shape"]
            self.values[name] = list(struct.unpack(f"<{count}e", data[8 + size + first:8 + size + last]))

    def write(self, path):
        """As F32, so that a change smaller than an F16 step is kept."""
        header, blob = {}, b""
        for name, values in self.values.items():
            piece = array.array("f", values).tobytes()
            header[name] = {"dtype": "F32", "shape": self.shapes[name], "data_offsets": [len(blob), len(blob) + len(piece)]}
            blob += piece
        if self.metadata:
            header["__metadata__"] = self.metadata
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        path.write_bytes(struct.pack("<Q", len(text)) + text + blob)


def noise(weights, config, amount):
    """Gaussian noise on every matrix, `amount` times its root mean square."""
    generator = random.Random(f"noise {amount}")
    for name, values in weights.values.items():
        if len(weights.shapes[name]) == 2:
            scale = amount * math.sqrt(sum(v * v for v in values) / len(values))
            weights.values[name] = [v + scale * generator.gauss(0, 1) for v in values]


def zero_head(weights, config, layer_and_head):
    """The columns of o_proj that read one head."""
    layer, head = layer_and_head
    name = f"model.layers.{layer}.self_attn.o_proj.weight"
    rows, columns = weights.shapes[name]
    size = config["head_dim"]
    for row in range(rows):
        for column in range(head * size, (head + 1) * size):
            weights.values[name][row * columns + column] = 0.0


def freeze_scale(weights, config, length):
    """SSMax's factor beta ln n held at n = `length`: folded into the queries of the scaled heads, and switched off."""
    if config["attn_scale_type"] != "nakanishi":
        sys.exit("freeze_scale needs an SSMax checkpoint")
    config["attn_scale_type"] = None
    size, first = config["head_dim"], config["alibi_num_heads"]
    for layer in range(config["num_hidden_layers"]):
        prefix = f"model.layers.{layer}.self_attn."
        beta = weights.values.pop(prefix + "attn_scale_beta")
        weights.shapes.pop(prefix + "attn_scale_beta")
        name = prefix + "q_proj.weight"
        columns = weights.shapes[name][1]
        for i, factor in enumerate(beta):
            rows = range((first + i) * size, (first + i + 1) * size)
            for index in range(rows.start * columns, rows.stop * columns):
                weights.values[name][index] *= factor * math.log(length)


KINDS = {"noise": noise, "zero_head": zero_head, "freeze_scale": freeze_scale}


def make_damaged(source, target, kind, amount):
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    weights = Weights(source / "model.safetensors")
    KINDS[kind](weights, config, amount)
    weights.write(target / "model.safetensors")
    (target / "config.json").write_text(json.dumps(config) + "\n", encoding="utf-8")


def call(command, codes=(0,)):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode not in codes:
        sys.exit(f"{' '.join(map(str, command))}: exit {result.returncode}\n{result.stderr}")
    return result


def measure(options, checkpoint, task, length, seeds, output):
    """Records by data seed: {seed: line}."""
    call([options.lenbench, "run", checkpoint, "--tasks", task, "--lengths", str(length), "--samples", str(options.samples),
          "--seed", ",".join(map(str, seeds)), "--probe", "none", "--threads", str(options.threads), "-o", output])
    records = {}
    for line in output.read_text(encoding="utf-8").splitlines():
        records[json.loads(line)["question"]["data_seed"]] = line + "\n"
    return records


def verdict(options, now, baseline):
    for name, line in (("now.jsonl", now), ("baseline.jsonl", baseline)):
        (options.work / name).write_text(line, encoding="utf-8")
    result = call([options.lenbench, "check", options.work / "now.jsonl", "--baseline", options.work / "baseline.jsonl",
                   "--json"], codes=(0, 1))
    report = json.loads(result.stdout)
    assert (result.returncode == 1) == (report["cells"][0]["verdict"] == "worse")
    return report["cells"][0]["verdict"]


def all_outcomes(records):
    return "".join(json.loads(line)["outcomes"] for line in records.values())


def with_outcomes(line, outcomes):
    """The Record of other samples: what a check reads, without the figures that it does not."""
    record = json.loads(line)
    record["outcomes"] = outcomes
    record["samples_requested"] = record["measurement"]["samples"] = len(outcomes)
    for name in ("exact", "answer", "token"):
        record["measurement"][name] = None
    return json.dumps(record, separators=(",", ":")) + "\n"


def redrawn(options, damaged, intact):
    """Verdicts on `options.redraws` sets of `options.samples` addresses drawn from all those measured."""
    generator = random.Random("redrawn")
    before, after = all_outcomes(intact), all_outcomes(damaged)
    words = []
    for _ in range(options.redraws):
        chosen = generator.sample(range(len(before)), options.samples)
        words.append(verdict(options, with_outcomes(damaged[0], "".join(after[i] for i in chosen)),
                             with_outcomes(intact[0], "".join(before[i] for i in chosen))))
    return words


def right(records):
    outcomes = all_outcomes(records)
    return outcomes.count("1") / len(outcomes), len(outcomes)


def rate(records):
    return round(right(records)[0], 5)


def tally(words):
    return {word: words.count(word) for word in sorted(set(words))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lenbench", required=True, type=pathlib.Path)
    parser.add_argument("--work", required=True, type=pathlib.Path, help="folder for damaged checkpoints and Records")
    parser.add_argument("-o", "--output", required=True, type=pathlib.Path)
    parser.add_argument("--samples", type=int, default=1000, help="samples of one gate run")
    parser.add_argument("--seeds", type=int, default=20, help="gate runs; samples x seeds measure the true drop")
    parser.add_argument("--redraws", type=int, default=200, help="further gate runs on addresses drawn from all of them")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--plan", type=pathlib.Path, default=pathlib.Path(__file__).with_name("gate_experiment.json"))
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    seeds = range(options.seeds)
    report = {"samples": options.samples, "gate_runs": options.seeds, "models": []}
    for series in json.loads(options.plan.read_text(encoding="utf-8")):
        source, task, length = CHECKPOINTS / series["checkpoint"], series["task"], series["length"]
        stem = f"{series['checkpoint']}-{length}"
        intact = measure(options, source, task, length, seeds, options.work / f"{stem}-intact.jsonl")
        paired = [verdict(options, intact[s], intact[s]) for s in seeds]
        unpaired = [verdict(options, intact[s], intact[(s + 1) % options.seeds]) for s in seeds]
        entry = {"checkpoint": series["checkpoint"], "task": task, "length": length, "intact_accuracy": rate(intact),
                 "samples_measured": right(intact)[1], "intact_same_addresses": tally(paired),
                 "intact_fresh_samples": tally(unpaired), "damages": []}
        for number, (kind, amount) in enumerate(series["damages"]):
            target = options.work / f"{stem}-{kind}-{number}"
            make_damaged(source, target, kind, amount)
            damaged = measure(options, target, task, length, seeds, options.work / f"{target.name}.jsonl")
            words = [verdict(options, damaged[s], intact[s]) for s in seeds]
            fresh = [verdict(options, damaged[s], intact[(s + 1) % options.seeds]) for s in seeds]
            entry["damages"].append({"kind": kind, "amount": amount, "accuracy": rate(damaged),
                                     "true_drop": round(right(intact)[0] - right(damaged)[0], 5),
                                     "same_addresses": tally(words), "fresh_samples": tally(fresh),
                                     "redrawn_addresses": tally(redrawn(options, damaged, intact))})
            print(json.dumps(entry["damages"][-1]), file=sys.stderr)
        report["models"].append(entry)
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
