"""PyTorch modules as files that `lenbench run FILE.pt` measures (docs/torchscript.md)."""

import json
import os
import warnings

FACTS = ("name", "vocab_size", "max_tokens", "train_length", "transform", "positions")


def export_torchscript(module, path, *, vocab_size, trace=False, check_lengths=(16, 48), **facts):
    """Saves `module`, whose module(ids) with int64 [B, T] gives logits [B, T, V], as TorchScript at `path`.

    facts: name, max_tokens, train_length, transform, positions, as they should stand in Records. The module is scripted; with
    `trace` it is traced at the first of `check_lengths`. What was written is loaded again and asked at every one of
    `check_lengths`, and must give the module's own logits: a trace that keeps a mask of one length fails here and not in a
    benchmark. Raises ValueError and leaves no file when it does not.
    """
    import torch

    unknown = sorted(set(facts) - set(FACTS))
    if unknown:
        raise ValueError(f"unknown facts {unknown} (known: {', '.join(FACTS)})")
    was_training = module.training
    module.eval()
    partial = f"{path}.partial-{os.getpid()}"
    try:
        generator = torch.Generator().manual_seed(0)
        texts = [torch.randint(vocab_size, (2, length), generator=generator) for length in check_lengths]
        with torch.inference_mode(), warnings.catch_warnings():
            # What torch would rather have is what the program cannot load (docs/torchscript.md).
            warnings.simplefilter("ignore", DeprecationWarning)
            made = torch.jit.trace(module, texts[0]) if trace else torch.jit.script(module)
            torch.jit.save(made, partial, _extra_files={"lenbench.json": json.dumps({"vocab_size": vocab_size, **facts})})
            loaded = torch.jit.load(partial)
            for ids in texts:
                _require_same(module, loaded, ids, vocab_size)
        os.replace(partial, path)
    finally:
        module.train(was_training)
        if os.path.exists(partial):
            os.remove(partial)


def _logits(module, ids):
    output = module(ids)
    return output[0] if isinstance(output, (tuple, list)) else output


def _require_same(module, loaded, ids, vocab_size):
    import torch

    length = ids.shape[1]
    wanted = _logits(module, ids)
    if tuple(wanted.shape) != (*ids.shape, vocab_size):
        raise ValueError(f"logits have shape {tuple(wanted.shape)} for ids {tuple(ids.shape)}: wanted {(*ids.shape, vocab_size)}")
    try:
        got = _logits(loaded, ids)
    except RuntimeError as error:
        raise ValueError(f"the saved module fails at length {length}: {str(error).strip().splitlines()[-1]}") from error
    if not torch.allclose(got, wanted, rtol=1e-4, atol=1e-5):
        raise ValueError(f"the saved module gives other logits than the module at length {length}: largest difference "
                         f"{(got - wanted).abs().max().item():.3g}; a trace keeps what it saw, script it instead")
    # Row t may depend on ids 0 .. t only.
    changed = ids.clone()
    changed[:, -1] = (changed[:, -1] + 1) % vocab_size
    if not torch.allclose(_logits(module, changed)[:, :-1], wanted[:, :-1], rtol=1e-4, atol=1e-5):
        raise ValueError(f"at length {length} a row changes with the token after it: the module is not causal")
