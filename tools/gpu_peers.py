"""Times other attention kernels on this machine's GPU, for tools/gpu_check.sh: torch's fused attention by backend, and
AdaSplash where it can be imported. Causal, one head, forward, inputs as in `lenbench bench` (q, k, v of N(0, 1), q times
1 or 4). Prints one JSON object: seconds (median, smallest, largest) and, for AdaSplash, how far a row's weights are from the
sum 1, or the reason why there are none."""

import importlib
import json
import statistics
import time

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

SIZES = [(4096, 64), (16384, 64), (65536, 64), (65536, 128)]
ROUNDS = 5


def timed(call):
    call()  # compiles and warms up
    torch.cuda.synchronize()
    seconds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return {"median": statistics.median(seconds), "low": min(seconds), "high": max(seconds)}


def reason_of(error):
    return f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else 'no message'}"


def backend_call(backend):
    def make(q, k, v):
        def call():
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return call
    return make


def adasplash_call(version, niter):
    def make(q, k, v):
        adasplash = importlib.import_module("adasplash")
        if version == 1:
            return lambda: adasplash.adasplash_v1(q, k, v, alpha=1.5, is_causal=True, niter=niter)
        return lambda: adasplash.adasplash_v2(q, k, v, niter=niter)
    return make


def sum_error(make, q, k, v):
    """With values of 1 an output is the sum of its row's weights."""
    return (make(q, k, torch.ones_like(v))() - 1).abs().max().item()


def main():
    results = {"torch": torch.__version__, "timings": []}
    torch.manual_seed(1)
    with torch.inference_mode():
        for length, head_dim in SIZES:
            for std in (1.0, 4.0):
                made = [torch.randn(1, 1, length, head_dim, device="cuda") for _ in range(3)]
                made[0] *= std
                half = [x.to(torch.bfloat16) for x in made]
                for name, make, inputs in (
                        ("sdpa flash bfloat16", backend_call(SDPBackend.FLASH_ATTENTION), half),
                        ("sdpa cudnn bfloat16", backend_call(SDPBackend.CUDNN_ATTENTION), half),
                        ("sdpa efficient float32", backend_call(SDPBackend.EFFICIENT_ATTENTION), made),
                        ("adasplash v1", adasplash_call(1, 10), half),
                        ("adasplash v2 niter 1", adasplash_call(2, 1), half),
                        ("adasplash v2 niter 2", adasplash_call(2, 2), half),
                        ("adasplash v2 niter 10", adasplash_call(2, 10), half)):
                    entry = {"length": length, "head_dim": head_dim, "std": std, "kernel": name}
                    try:
                        entry["seconds"] = timed(make(*inputs))
                        if name.startswith("adasplash"):
                            entry["sum_error"] = sum_error(make, *inputs)
                    except Exception as error:  # any peer may be absent or refuse the shape: the reason is the result
                        entry["missing"] = reason_of(error)
                    results["timings"].append(entry)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
