"""Writes the tiny models of this folder with the transformers library, and the logits it computes for them.

usage: make.py OUT_DIR [NAME ...]     (needs torch and transformers; the files here are of the versions in their config.json)
"""

import pathlib
import sys

import torch
from safetensors.torch import load_file, save_file
import transformers

SMALL = dict(vocab_size=32, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=64, initializer_range=0.3)
YARN = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=16)


def rope(theta=10000.0, **parameters):
    """The scaling under the keys that the installed version reads."""
    if int(transformers.__version__.split(".")[0]) >= 5:
        return {"rope_parameters": {"rope_theta": theta, **parameters}}
    return {"rope_scaling": parameters, "rope_theta": theta}


# name: (config class, its arguments, lengths of the texts, type that is stored)
MODELS = {
    "llama-dynamic": ("Llama", dict(SMALL, max_position_embeddings=24, **rope(rope_type="dynamic", factor=4.0)),
                      [20, 48], torch.float32),
    "llama-yarn": ("Llama", dict(SMALL, **rope(**YARN), head_dim=12, attention_bias=True, mlp_bias=True), [48],
                   torch.float32),
    "llama-yarn-mscale": ("Llama", dict(SMALL, head_dim=16, tie_word_embeddings=True,
                                        **rope(20.0, rope_type="yarn", factor=4.0, original_max_position_embeddings=32,
                                               mscale=0.7, mscale_all_dim=1.0, beta_fast=4.0, beta_slow=2.0,
                                               truncate=False)), [48], torch.float16),
    "mistral-window": ("Mistral", dict(SMALL, sliding_window=8), [40], torch.float32),
    "qwen2-window": ("Qwen2", dict(SMALL, sliding_window=8, use_sliding_window=True, max_window_layers=1,
                                   tie_word_embeddings=True), [40], torch.float32),
    "qwen3": ("Qwen3", dict(SMALL, head_dim=12, **rope(**YARN)), [40], torch.float32),
    "gemma2": ("Gemma2", dict(SMALL, num_hidden_layers=3, head_dim=12, sliding_window=8, query_pre_attn_scalar=20,
                              attn_logit_softcapping=2.0, final_logit_softcapping=3.0), [40], torch.bfloat16),
    "gpt-neox-serial": ("GPTNeoX", dict({k: v for k, v in SMALL.items() if k != "num_key_value_heads"},
                                        use_parallel_residual=False,
                                        **(rope(rope_type="linear", factor=2.0, partial_rotary_factor=0.5)
                                           if rope().get("rope_parameters") else
                                           dict(rotary_pct=0.5, **rope(rope_type="linear", factor=2.0)))), [40],
                        torch.float32),
    "gpt2-by-layer": ("GPT2", dict(vocab_size=32, n_embd=16, n_layer=3, n_head=4, n_positions=40, n_inner=24,
                                   initializer_range=0.3, scale_attn_by_inverse_layer_idx=True,
                                   tie_word_embeddings=False), [40], torch.float32),
}
HEADS = {"GPT2": "GPT2LMHeadModel"}


def make(folder, name, kind, arguments, lengths, stored):
    torch.manual_seed(sum(map(ord, name)))
    config = getattr(transformers, kind + "Config")(**arguments)
    model = getattr(transformers, HEADS.get(kind, kind + "ForCausalLM"))._from_config(
        config, attn_implementation="eager").eval()
    for key, parameter in model.named_parameters():
        if parameter.dim() == 1:  # norms and biases start at constants, which would hide a wrong one
            torch.nn.init.normal_(parameter.data, float("norm" in key and "bias" not in key and kind != "Gemma2"), 0.3)
    model.to(stored).save_pretrained(folder / name)
    # Read back, so that only the weights are rounded, and not the buffers of rotary frequencies.
    model = type(model).from_pretrained(folder / name, torch_dtype=torch.float32, attn_implementation="eager").eval()
    for length in lengths:
        ids = torch.randint(0, config.vocab_size, (2, length))
        with torch.no_grad():
            logits = model(ids, use_cache=False).logits
        save_file({"input_ids": ids, "logits": logits}, folder / name / f"expected-{length}.safetensors")
    if name == "gpt2-by-layer":  # as files of the bare model are: without the prefix, with the causal mask
        path = folder / name / "model.safetensors"
        tensors = {key.removeprefix("transformer."): value.contiguous() for key, value in load_file(path).items()}
        tensors["h.0.attn.bias"] = torch.tril(torch.ones(1, 1, 4, 4))
        save_file(tensors, path, metadata={"format": "pt"})
    (folder / name / "generation_config.json").unlink(missing_ok=True)


if __name__ == "__main__":
    out = pathlib.Path(sys.argv[1])
    for name in sys.argv[2:] or MODELS:
        make(out, name, *MODELS[name])
