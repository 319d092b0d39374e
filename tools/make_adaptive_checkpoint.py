"""Makes the adaptive-temperature sibling of a softmax checkpoint: the same weights, another attention at inference.

    python3 tools/make_adaptive_checkpoint.py results/checkpoints/recall-softmax-nape results/checkpoints/recall-adaptive-temperature-nape

Adaptive temperature (Velickovic et al. 2024, arXiv 2410.01104) changes a trained softmax model when it is used, so there is
nothing to train. `lenbench run SOFTMAX --transform adaptive-temperature` gives the same numbers without a second checkpoint.
"""

import json
import pathlib
import shutil
import sys


def main(source, target):
    source, target = pathlib.Path(source), pathlib.Path(target)
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    if config.get("entmax_alpha") != 1.0 or config.get("attn_scale_type") not in (None, "none"):
        sys.exit(f"{source}: not a plain softmax checkpoint")
    config["architectures"] = ["LenbenchForCausalLM"]
    config["lenbench"] = {**config.get("lenbench", {}), "adaptive_temperature": True}
    origin = json.loads((source / "origin.json").read_text(encoding="utf-8"))
    origin["facts"]["derived_from"] = origin["name"]
    origin["facts"]["method"] = "adaptive-temperature"
    origin["name"] = target.name
    target.mkdir(parents=True, exist_ok=True)
    (target / "config.json").write_text(json.dumps(config) + "\n", encoding="utf-8")
    (target / "origin.json").write_text(json.dumps(origin) + "\n", encoding="utf-8")
    shutil.copyfile(source / "model.safetensors", target / "model.safetensors")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
