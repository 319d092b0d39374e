#!/usr/bin/env python3
"""Tokens per second of `lenbench train` beside a plain PyTorch loop: the same model, batches, optimizer and step count.

    tools/train_benchmark.py --lenbench build/release/bin/lenbench --tokens 40 --rounds 5

Needs the PyPI wheel `torch` (a CPU build will do). The PyTorch side is what one writes first: masked dense scores, entmax
by sorting with its gradient by hand, separate modules, AdamW, clipping. Both sides run on one thread; rates are CPU time,
so that other work on the machine does not count, and come from the difference of a long and a short run, so that starting
up does not count either. Rounds alternate; the median ratio is printed with its spread.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import tempfile
import time

import torch
from torch import nn

KEYS, VALUES = 256, 128
HIDDEN, HEADS, LAYERS, INNER, BATCH = 64, 4, 2, 128, 64
HEAD = HIDDEN // HEADS


class Entmax15(torch.autograd.Function):
    @staticmethod
    def forward(context, scores):
        z = (scores - scores.amax(-1, keepdim=True)) / 2
        ordered = z.sort(-1, descending=True).values.clamp(min=-1e4)
        count = torch.arange(1, z.shape[-1] + 1, dtype=z.dtype)
        mean = ordered.cumsum(-1) / count
        variance = (ordered**2).cumsum(-1) / count - mean**2
        threshold = mean - ((1 - count * variance) / count).clamp(min=0).sqrt()
        last = (threshold <= ordered).sum(-1, keepdim=True) - 1
        weights = (z - threshold.gather(-1, last)).clamp(min=0) ** 2
        context.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(context, gradient):
        slope = context.saved_tensors[0].sqrt()
        scaled = gradient * slope
        return scaled - slope * scaled.sum(-1, keepdim=True) / slope.sum(-1, keepdim=True)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.RMSNorm(HIDDEN, eps=1e-6) for _ in range(4))
        self.q, self.k, self.v, self.o = (nn.Linear(HIDDEN, HIDDEN, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(HIDDEN, INNER, bias=False) for _ in range(2))
        self.down = nn.Linear(INNER, HIDDEN, bias=False)
        self.beta, self.gamma = (nn.Linear(HIDDEN, HEADS // 2) for _ in range(2))

    def attention(self, x):
        batch, tokens, _ = x.shape
        q, k, v = (part(x).view(batch, tokens, HEADS, HEAD).transpose(1, 2) for part in (self.q, self.k, self.v))
        position = torch.arange(tokens)
        beta = nn.functional.softplus(self.beta(x)).transpose(1, 2).unsqueeze(-1)
        gamma = 2 * torch.tanh(self.gamma(x)).transpose(1, 2).unsqueeze(-1)
        scale = 1 + beta * torch.log(position + 2.0).view(1, 1, -1, 1) ** gamma
        q = torch.cat([q[:, : HEADS // 2], q[:, HEADS // 2 :] * scale], 1)
        slopes = torch.cat([1 / torch.arange(1.0, HEADS // 2 + 1), torch.zeros(HEADS // 2)]).view(1, -1, 1, 1)
        scores = q @ k.transpose(-1, -2) / math.sqrt(HEAD) - slopes * (position.view(-1, 1) - position)
        scores = scores.masked_fill(position > position.view(-1, 1), -1e9)
        return self.o((Entmax15.apply(scores) @ v).transpose(1, 2).reshape(batch, tokens, HIDDEN))

    def forward(self, x):
        x = x + self.norms[1](self.attention(self.norms[0](x)))
        h = self.norms[2](x)
        h = self.down(nn.functional.gelu(self.gate(h), approximate="tanh") * self.up(h))
        return x + self.norms[3](h)


class Model(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, HIDDEN)
        nn.init.normal_(self.embedding.weight, std=0.044)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm, self.head = nn.RMSNorm(HIDDEN, eps=1e-6), nn.Linear(HIDDEN, vocabulary, bias=False)

    def forward(self, tokens):
        return self.head(self.norm(self.blocks(self.embedding(tokens) * math.sqrt(HIDDEN))))


def batch_of(tokens, vocabulary):
    """Pairs, then queries with their answers, as in `recall`; -100 where nothing is judged."""
    queries = tokens // 5
    pairs = (tokens - 2 * queries) // 2
    keys = torch.stack([torch.randperm(KEYS)[:pairs] for _ in range(BATCH)])
    values = torch.randint(VALUES, (BATCH, pairs)) + KEYS
    asked = torch.randint(pairs, (BATCH, queries))
    body = torch.stack([keys, values], -1).flatten(1)
    tail = torch.stack([keys.gather(1, asked), values.gather(1, asked)], -1).flatten(1)
    sequence = torch.cat([body, tail], 1)
    targets = torch.full_like(sequence, -100)
    targets[:, body.shape[1] :: 2] = values.gather(1, asked)
    return sequence, targets


def torch_rate(tokens, vocabulary, steps):
    model = Model(vocabulary)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.98), weight_decay=0.01)
    for step in range(steps + 20):
        if step == 20:
            start, seen = time.process_time(), 0
        sequence, targets = batch_of(tokens, vocabulary)
        logits = model(sequence)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-100)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step >= 20:
            seen += sequence.numel()
    return seen / (time.process_time() - start)


def recipe(task, length, steps):
    model = {
        "architectures": ["SparseGemma2ForCausalLM"], "model_type": "gemma2", "hidden_size": HIDDEN,
        "intermediate_size": INNER, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS, "head_dim": HEAD, "hidden_activation": "gelu_pytorch_tanh", "rms_norm_eps": 1e-6,
        "attn_logit_softcapping": None, "final_logit_softcapping": None, "tie_word_embeddings": False,
        "apply_rotary": False, "apply_nape": True, "alibi_slope_type": "linear", "entmax_alpha": 1.5,
        "attn_scale_type": "adapt-softplus-tanh", "attn_scale_proj_bias": True,
    }  # fmt: skip
    return {
        "name": "benchmark", "method": "asentmax", "steps": steps, "batch": BATCH, "model": model,
        "optimizer": {"learning_rate": 3e-3, "beta2": 0.98, "weight_decay": 0.01, "warmup_steps": 10},
        "lengths": {"low": length, "high": length, "grow_from": length, "grow_until": 0.0},
        "sources": [{"task": task}], "validation": {"task": task, "length": length, "samples": 1, "every_steps": 1000000},
        "log_every_steps": 1000, "save_every_steps": 1000000,
    }  # fmt: skip


def lenbench_run(program, task, length, steps, folder):
    """CPU seconds of one training, and its tokens a sequence."""
    path, output = os.path.join(folder, "recipe.json"), os.path.join(folder, "out")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(recipe(task, length, steps), file)
    command = [program, "train", path, "-o", output, "--overwrite", "--quiet", "--threads", "1"]
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    with open(os.path.join(output, "train_log.jsonl"), encoding="utf-8") as file:
        tokens = [json.loads(line)["tokens"] for line in file if '"tokens"' in line][-1]
    return after.children_user + after.children_system - before.children_user - before.children_system, tokens


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lenbench", default="build/release/bin/lenbench")
    parser.add_argument("--tokens", type=int, nargs="+", default=[40, 64], help="tokens a sequence")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=150)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print("tokens  pytorch tokens/s  lenbench tokens/s  ratio [low, high]")
    with tempfile.TemporaryDirectory() as folder:
        for tokens in options.tokens:
            queries = tokens // 5
            # `recall` takes three tokens a query behind its body and one to begin with.
            length = tokens - 3 * queries - 1 + (tokens - 3 * queries - 1) % 2
            task = f"recall:density=2,queries={queries}"
            plain, own, ratios = [], [], []
            for _ in range(options.rounds):
                plain.append(torch_rate(tokens, KEYS + VALUES + 6, options.steps))
                short, _ = lenbench_run(options.lenbench, task, length, 20, folder)
                long, width = lenbench_run(options.lenbench, task, length, 20 + options.steps, folder)
                own.append(BATCH * width * options.steps / (long - short))
                ratios.append(own[-1] / plain[-1])
            print(f"{tokens:6}  {statistics.median(plain):16.0f}  {statistics.median(own):17.0f}  "
                  f"{statistics.median(ratios):.2f} [{min(ratios):.2f}, {max(ratios):.2f}]  ({width} tokens in lenbench)",
                  flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
