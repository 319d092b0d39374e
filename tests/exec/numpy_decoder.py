"""A bundled softmax checkpoint computed once more, in numpy from its safetensors, and served to `lenbench run`.

usage: numpy_decoder.py ADAPTER_FOLDER CHECKPOINT [REFUSE_FROM_TOKENS]
"""

import json
import os
import sys

import numpy

sys.path.insert(0, sys.argv[1])
from lenbench import adapter  # noqa: E402


def read_safetensors(path):
    with open(path, "rb") as file:
        bytes_ = file.read()
    header_bytes = int.from_bytes(bytes_[:8], "little")
    header = json.loads(bytes_[8:8 + header_bytes])
    data = bytes_[8 + header_bytes:]
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        if entry["dtype"] == "BF16":  # the upper half of a float32
            values = (numpy.frombuffer(data[begin:end], dtype="<u2").astype("<u4") << 16).view("<f4")
        else:
            values = numpy.frombuffer(data[begin:end], dtype={"F32": "<f4", "F16": "<f2"}[entry["dtype"]])
        tensors[name] = values.astype(numpy.float32).reshape(entry["shape"])
    return tensors


class Decoder:
    """Gemma-2 blocks with plain softmax over NAPE: float32, query blocks so that scores of long inputs fit."""

    QUERY_BLOCK = 512

    def __init__(self, folder):
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
            self.config = json.load(file)
        assert self.config["entmax_alpha"] == 1.0 and self.config["apply_nape"] and not self.config["attn_scale_type"]
        self.weights = read_safetensors(os.path.join(folder, "model.safetensors"))
        heads, biased = self.config["num_attention_heads"], self.config["alibi_num_heads"]
        self.slopes = [1 / (h + 1) if h < biased else 0.0 for h in range(heads)]

    def norm(self, x, name):
        scale = 1 / numpy.sqrt((x * x).mean(axis=-1, keepdims=True) + numpy.float32(self.config["rms_norm_eps"]))
        return x * scale * (1 + self.weights[name + ".weight"])

    def attend(self, h, layer):
        heads, dim = self.config["num_attention_heads"], self.config["head_dim"]
        tokens = h.shape[0]
        q, k, v = ((h @ self.weights[f"{layer}.self_attn.{p}_proj.weight"].T).reshape(tokens, heads, dim)
                   for p in "qkv")
        out = numpy.empty_like(q)
        positions = numpy.arange(tokens)
        for head in range(heads):
            for begin in range(0, tokens, self.QUERY_BLOCK):
                end = min(tokens, begin + self.QUERY_BLOCK)
                scores = q[begin:end, head] @ k[:end, head].T / numpy.float32(dim ** 0.5)
                distance = (positions[begin:end, None] - positions[None, :end]).astype(numpy.float32)
                scores -= numpy.float32(self.slopes[head]) * distance
                scores[distance < 0] = -numpy.inf
                weights = numpy.exp(scores - scores.max(axis=-1, keepdims=True))
                out[begin:end, head] = (weights @ v[:end, head]) / weights.sum(axis=-1, keepdims=True)
        return out.reshape(tokens, heads * dim) @ self.weights[f"{layer}.self_attn.o_proj.weight"].T

    def logits(self, ids, rows):
        x = self.weights["model.embed_tokens.weight"][ids] * numpy.float32(self.config["hidden_size"] ** 0.5)
        for number in range(self.config["num_hidden_layers"]):
            layer = f"model.layers.{number}"
            attended = self.attend(self.norm(x, f"{layer}.input_layernorm"), layer)
            x = x + self.norm(attended, f"{layer}.post_attention_layernorm")
            h = self.norm(x, f"{layer}.pre_feedforward_layernorm")
            gate = h @ self.weights[f"{layer}.mlp.gate_proj.weight"].T
            gelu = 0.5 * gate * (1 + numpy.tanh(numpy.float32((2 / numpy.pi) ** 0.5) * (gate + 0.044715 * gate ** 3)))
            h = (gelu * (h @ self.weights[f"{layer}.mlp.up_proj.weight"].T)) @ self.weights[
                f"{layer}.mlp.down_proj.weight"].T
            x = x + self.norm(h, f"{layer}.post_feedforward_layernorm")
        return self.norm(x[rows], "model.norm") @ self.weights["lm_head.weight"].T


def main():
    decoder = Decoder(sys.argv[2])
    longest = int(sys.argv[3]) if len(sys.argv) > 3 else None

    def logits(ids, rows):
        if longest is not None and ids.shape[1] >= longest:
            raise MemoryError(f"{ids.shape[1]} tokens")
        return numpy.stack([decoder.logits(i, r) for i, r in zip(ids, rows)])

    adapter.serve(logits, takes_rows=True, name="numpy", vocab_size=decoder.config["vocab_size"])


main()
