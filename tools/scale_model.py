"""Time and memory of evaluating large models at long lengths, on paper: the tables of docs/scale.md.

  tools/scale_model.py             print the tables
  tools/scale_model.py --check F   exit 1 unless F holds exactly these tables between its markers
  tools/scale_model.py --write F   put them there

Three kinds of numbers, kept apart: MEASURED on a CPU with this program, PUBLISHED about devices, ASSUMED. All else follows."""

import math
import pathlib
import sys

# name: (value, how it was measured)
MEASURED = {
    "activation_elements": (5.98, "elements of max(hidden, heads x head size) a token at the peak: recall-asentmax-nape, one sample, "
                                  "peak_bytes of its records at 65,560 and 262,168 tokens differ by 3,060 bytes a token"),
    "kept": ({1024: 130.5, 4096: 187.1, 16384: 253.9, 65536: 331.6}, "keys a row that pass kernel A's screen, head size 64, scores of N(0, 1): "
                                                                   "the kernel simulated on the host, 16 rows at each length"),
    "solves": ({1024: 3.2, 4096: 4.5, 16384: 5.9, 65536: 7.5}, "running thresholds solved a row in the same runs"),
}
# name: (value, source)
PUBLISHED = {
    "memory": (141e9, "H200 SXM memory in bytes, NVIDIA's datasheet"),
    "bandwidth": (4.8e12, "H200 SXM memory bandwidth in bytes/s, the same"),
    "bf16": (989e12, "H200 SXM dense bfloat16 FLOP/s, the same"),
    "tf32": (494e12, "H200 SXM dense TF32 FLOP/s, the same"),
    "fp32": (67e12, "H200 SXM fp32 FLOP/s, the same"),
    "nvlink": (450e9, "NVLink 4, bytes/s a direction and GPU, the same; used up to 8 GPUs"),
    "network": (50e9, "one NDR InfiniBand port of 400 Gb/s a GPU; used beyond 8 GPUs"),
    "softmax": ({64: 473e12, 128: 688e12}, "fused causal bfloat16 softmax attention, FLOP/s: head size 64 on an H100 SXM (FlashAttention-3, "
                                            "arXiv 2407.08608), 128 on an H200 (benchmark table of NVIDIA's cudnn-frontend repository)"),
}
ASSUMED = {
    "gemm_share": (0.8, "share of a peak that large matrix products reach"),
    "screen_share": ((0.25, 0.6), "share of the bfloat16 peak that kernel A's screen reaches, low and high: no GPU has run it"),
    "rescore_share": (0.05, "share of the fp32 peak at which kept keys are scored again: their rows lie anywhere in memory"),
    "solve_seconds": (5e-6, "one running threshold solved by one warp"),
    "warps": (2112, "warps that solve at the same time: 132 SMs with 16 each"),
}

# parameters: layers, hidden, heads, key/value heads, head size, MLP width (gated), vocabulary; embeddings not tied
MODELS = {
    "420M": dict(layers=24, hidden=1024, heads=16, kv_heads=16, head_dim=64, mlp=2816, vocab=50304),
    "7B": dict(layers=32, hidden=4096, heads=32, kv_heads=32, head_dim=128, mlp=11008, vocab=32000),
    "7B, 8 KV heads": dict(layers=32, hidden=4096, heads=32, kv_heads=8, head_dim=128, mlp=11008, vocab=32000),
}
LENGTHS = [2**16, 2**18, 2**20, 2**22, 2**24]
GPUS = [1, 8, 64]
LONGEST = 2**24 - 1  # keys: positions are exact in fp32 up to there (kernels/cuda/attention.h)


def value(table, name):
    return table[name][0]


def layer_parameters(m):
    attention = m["hidden"] * m["head_dim"] * (2 * m["heads"] + 2 * m["kv_heads"])
    return attention + 3 * m["hidden"] * m["mlp"]


def parameters(m):
    return m["layers"] * layer_parameters(m) + 2 * m["vocab"] * m["hidden"]


def screen_columns(m):
    """kernels/cuda/screen.h: three columns more than the head size, in compiled multiples of 16."""
    return next(16 * steps for steps in (2, 3, 5, 9) if m["head_dim"] + 3 <= 16 * steps)


def growth(table, length):
    """a + b ln n by least squares over the measured lengths, at another length."""
    points = [(math.log(n), y) for n, y in table.items()]
    mean_x, mean_y = (sum(p[i] for p in points) / len(points) for i in (0, 1))
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)
    return mean_y + slope * (math.log(length) - mean_x)


def memory(m, length, gpus, element_bytes):
    """Bytes of one GPU: its share of the rows, and all keys and values of one layer."""
    width = max(m["hidden"], m["heads"] * m["head_dim"])
    activations = value(MEASURED, "activation_elements") * length / gpus * width * element_bytes
    # A share's own keys and values are among the activations; what others hold is gathered beside them.
    gathered = 2 * length * (1 - 1 / gpus) * m["kv_heads"] * m["head_dim"] * element_bytes
    columns = length * m["kv_heads"] * screen_columns(m) * 2
    return {"weights": parameters(m) * element_bytes, "activations": activations, "gathered": gathered, "columns": columns}


def seconds(m, length, gpus, dtype):
    """Seconds of one sample by piece. The last layer computes answer rows alone, so it counts for keys and values only."""
    rate = value(PUBLISHED, {"float32": "fp32", "tf32": "tf32", "bfloat16": "bf16"}[dtype]) * value(ASSUMED, "gemm_share")
    element_bytes = 2 if dtype == "bfloat16" else 4
    full = m["layers"] - 1
    rows = length / gpus
    linear = 2 * (full * layer_parameters(m) + 2 * m["hidden"] * m["kv_heads"] * m["head_dim"]) * rows / rate
    pairs = full * m["heads"] * length * (length + 1) / 2 / gpus
    softmax = 4 * m["head_dim"] * pairs / value(PUBLISHED, "softmax")[m["head_dim"]]
    head_rows = full * m["heads"] * rows
    rescored = (head_rows * growth(value(MEASURED, "kept"), length) * 2 * m["head_dim"]
                / (value(PUBLISHED, "fp32") * value(ASSUMED, "rescore_share")))
    solved = head_rows * growth(value(MEASURED, "solves"), length) * value(ASSUMED, "solve_seconds") / value(ASSUMED, "warps")
    low, high = value(ASSUMED, "screen_share")
    screened = [2 * screen_columns(m) * pairs / (share * value(PUBLISHED, "bf16")) for share in (high, low)]
    wire = value(PUBLISHED, "nvlink" if gpus <= 8 else "network")
    gather = m["layers"] * 2 * length * (1 - 1 / gpus) * m["kv_heads"] * m["head_dim"] * element_bytes / wire if gpus > 1 else 0.0
    return {"linear": linear, "softmax": softmax, "entmax": [s + rescored + solved for s in screened], "gather": gather}


def duration(s):
    for limit, unit, size in ((1, "ms", 1e-3), (120, "s", 1), (7200, "min", 60), (172800, "h", 3600)):
        if s < limit:
            return f"{s / size:.2g} {unit}" if s / size < 9.5 else f"{s / size:.0f} {unit}"
    return f"{s / 86400:.2g} d" if s / 86400 < 9.5 else f"{s / 86400:.0f} d"


def gigabytes(b):
    return f"{b / 1e9:.2g}" if b < 9.5e9 else f"{b / 1e9:,.0f}"


def tokens(n):
    return f"{n // 1024}K" if n < 2**20 else f"{n // 2**20}M"


def table(head, rows):
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


def inputs():
    text = []
    for title, kind in (("Measured, on a CPU with this program", MEASURED), ("Published", PUBLISHED), ("Assumed: nobody measured it", ASSUMED)):
        rows = []
        for number, words in kind.values():
            if isinstance(number, dict):
                shown = ", ".join(f"{k:,}: {v:g}" for k, v in number.items())
            elif isinstance(number, tuple):
                shown = " to ".join(f"{v:g}" for v in number)
            else:
                shown = f"{number:g}"
            rows.append([shown, words])
        text.append(f"{title}:\n\n" + table(["value", "what it is"], rows))
    return "\n\n".join(text)


def cost(m):
    rows = []
    for length in LENGTHS:
        for gpus in GPUS:
            exact, fast = seconds(m, length, gpus, "float32"), seconds(m, length, gpus, "bfloat16")
            need = [sum(memory(m, length, gpus, b).values()) for b in (4, 2)]
            fits = [n <= value(PUBLISHED, "memory") for n in need]
            entmax = " to ".join(duration(s) for s in exact["entmax"])
            totals = [" to ".join(duration(s["linear"] + s["gather"] + e) for e in s["entmax"]) for s in (exact, fast)]
            rows.append([tokens(length), str(gpus), *(gigabytes(n) + ("" if f else " **no**") for n, f in zip(need, fits)),
                         duration(exact["linear"]), duration(fast["linear"]), duration(exact["softmax"]), entmax,
                         duration(exact["gather"]) if gpus > 1 else "-", *totals])
    return table(["tokens", "GPUs", "GB, fp32", "GB, bf16", "linear, fp32", "linear, bf16", "attention, softmax", "attention, kernel A",
                  "gather, fp32", "sample with kernel A, fp32", "the same, bf16"], rows)


def breaks():
    rows = []
    for name, m in MODELS.items():
        for gpus in GPUS:
            row = [name, str(gpus)]
            for element_bytes in (4, 2):
                fitting = [n for n in range(14, 31) if sum(memory(m, 2**n, gpus, element_bytes).values()) <= value(PUBLISHED, "memory")]
                longest = 2 ** max(fitting)
                largest = max(memory(m, 2 * longest, gpus, element_bytes).items(), key=lambda piece: piece[1])[0]
                limit = " (but kernels end at 2^24 - 1)" if longest > LONGEST else ""
                row += [tokens(longest) + limit, largest]
            rows.append(row)
    return table(["model", "GPUs", "longest that fits, fp32", "breaks first", "longest that fits, bf16", "breaks first"], rows)


def document():
    parts = ["### Inputs", inputs()]
    for name, m in MODELS.items():
        shape = (f"{m['layers']} layers, hidden {m['hidden']}, {m['heads']} heads of {m['head_dim']} ({m['kv_heads']} for keys and values), "
                 f"MLP {m['mlp']}, vocabulary {m['vocab']}: {parameters(m) / 1e9:.2f} billion parameters")
        parts += [f"### {name}", shape + ".", cost(m)]
    return "\n\n".join(parts + ["### Longest sequence, in powers of two", breaks()]) + "\n"


BEGIN, END = "<!-- begin tools/scale_model.py -->\n", "<!-- end tools/scale_model.py -->\n"


def main():
    if len(sys.argv) == 1:
        print(document(), end="")
        return 0
    if len(sys.argv) != 3 or sys.argv[1] not in ("--check", "--write"):
        print("scale_model: error: no arguments, or --check FILE, or --write FILE", file=sys.stderr)
        return 2
    path = pathlib.Path(sys.argv[2])
    text = path.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        print(f"scale_model: error: {path} has no pair of markers", file=sys.stderr)
        return 2
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    wanted = text[:begin] + "\n" + document() + "\n" + text[end:]
    if sys.argv[1] == "--write":
        path.write_text(wanted, encoding="utf-8")
    elif wanted != text:
        print(f"scale_model: {path} does not hold what the script computes; run tools/scale_model.py --write {path}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
