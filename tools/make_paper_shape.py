#!/usr/bin/env python3
"""Makes a model of the paper's shape with random weights, to time with `lenbench bench --end-to-end`: it has learnt nothing.

    tools/make_paper_shape.py FOLDER [--vocabulary 390] [--std 4] [--layers 4] [--seed 1]

Width 512, 16 heads of 32, NAPE, entmax 1.5, as in the recipes paper-*. Queries and keys are drawn such that the scores of a head
without a position have the standard deviation --std: norms leave rows of mean square 1, so a weight matrix of entries
N(0, s^2 / 512) gives channels of standard deviation s, and the mean of 32 products of two of them, times sqrt(32), one of s_q s_k.
"""

import argparse
import json
import pathlib
import random
import struct
from array import array

HIDDEN, INNER, HEADS, HEAD = 512, 1024, 16, 32


def shapes(vocabulary, layers):
    yield "model.embed_tokens.weight", (vocabulary, HIDDEN)
    yield "lm_head.weight", (vocabulary, HIDDEN)
    yield "model.norm.weight", (HIDDEN,)
    for layer in range(layers):
        start = f"model.layers.{layer}."
        for norm in ("input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm"):
            yield f"{start}{norm}.weight", (HIDDEN,)
        for name in "qkvo":
            yield f"{start}self_attn.{name}_proj.weight", (HIDDEN, HEADS * HEAD)
        yield start + "mlp.gate_proj.weight", (INNER, HIDDEN)
        yield start + "mlp.up_proj.weight", (INNER, HIDDEN)
        yield start + "mlp.down_proj.weight", (HIDDEN, INNER)


def values(name, shape, std, rng):
    count = 1
    for size in shape:
        count *= size
    if len(shape) == 1:
        return array("f", bytes(4 * count))  # norms multiply by 1 + weight
    scale = 1 if "embed_tokens" in name else shape[1] ** -0.5
    if "q_proj" in name:
        scale *= std
    return array("f", (rng.gauss(0, scale) for _ in range(count)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--vocabulary", type=int, default=390, help="tokens that the model knows (default 390: the task recall)")
    parser.add_argument("--std", type=float, default=4, help="standard deviation of scores (default 4)")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    config = {
        "architectures": ["SparseGemma2ForCausalLM"], "model_type": "gemma2", "vocab_size": options.vocabulary,
        "hidden_size": HIDDEN, "intermediate_size": INNER, "num_hidden_layers": options.layers, "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS, "head_dim": HEAD, "hidden_activation": "gelu_pytorch_tanh", "rms_norm_eps": 1e-6,
        "tie_word_embeddings": False, "attention_bias": False, "attn_logit_softcapping": None, "final_logit_softcapping": None,
        "apply_rotary": False, "apply_nape": True, "alibi_slope_type": "linear", "entmax_alpha": 1.5,
    }
    header, at, parts = {}, 0, []
    for name, shape in shapes(options.vocabulary, options.layers):
        data = values(name, shape, options.std, rng).tobytes()
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [at, at + len(data)]}
        at += len(data)
        parts.append(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    options.folder.mkdir(parents=True, exist_ok=True)
    (options.folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    with open(options.folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for data in parts:
            file.write(data)


if __name__ == "__main__":
    main()
