"""Turns a checkpoint of the ASEntmax paper's training code into config.json + model.safetensors + origin.json.

    python3 tools/convert_asentmax.py last.ckpt --config .hydra/config.yaml -o my_checkpoint --train-length 64
    python3 tools/convert_asentmax.py last.ckpt --set entmax_alpha=1.5 --set num_attention_heads=8 \\
        --set apply_rotary=false --set apply_nape=true -o my_checkpoint

That code (Lightning and Hydra, arXiv 2506.16640) saves weights as `net.model.*` in a .ckpt file and does not save what the
network computes: that is `model.net` of the run's .hydra/config.yaml (reading YAML needs python3-yaml; JSON of the same
needs nothing). --set replaces a key of it. Sizes are taken from the tensors and must agree with what the configuration says.

The file is never unpickled by its own classes: only tensors, plain values and containers are made, and nothing in it can
run. No torch is needed. docs/convert-asentmax.md lists the keys.
"""

import argparse
import collections
import hashlib
import io
import json
import math
import os
import pickle
import re
import sys
import zipfile

# torch storage class -> safetensors dtype, bytes.
STORAGES = {"FloatStorage": ("F32", 4), "DoubleStorage": ("F64", 8), "HalfStorage": ("F16", 2),
            "BFloat16Storage": ("BF16", 2), "LongStorage": ("I64", 8), "IntStorage": ("I32", 4)}

# Gemma-2-2b's values, which the paper's code starts from, where the computation depends on them.
INHERITED = {"rms_norm_eps": 1e-6, "hidden_activation": "gelu_pytorch_tanh", "attention_bias": False, "rope_theta": 10000.0,
             "tie_word_embeddings": True, "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0}
# Keys of model.net that become keys of config.json as they are.
COMPUTATION = {"entmax_alpha", "attn_type", "apply_rotary", "apply_nape", "alibi_num_heads", "alibi_slope_type",
               "attn_scale_type", "attn_scale_delta", "attn_scale_gamma_range", "attn_scale_proj_bias", "poly_fit",
               "topk_size", "topk_length_rule", "rope_scaling"} | set(INHERITED)
SIZES = {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
         "num_key_value_heads", "head_dim"}
# Keys that change nothing in what is computed.
HARMLESS = {"_target_", "_partial_", "from_pretrained", "torch_dtype", "max_position_embeddings", "sliding_window",
            "attention_dropout", "attn_implementation", "use_fast_attn", "use_triton_entmax", "initializer_range",
            "query_pre_attn_scalar", "use_cache", "pad_token_id", "bos_token_id", "eos_token_id"}
MODEL_CLASS = "SparseGemma2ForCausalLM"


class Refusal(Exception):
    """What a user can cause: one line."""


class Inert:
    """Stands for any object of the file that is no tensor: takes whatever unpickling gives it and does nothing."""

    def __new__(cls, *_, **__):
        return object.__new__(cls)

    def __init__(self, *_, **__):
        pass

    def __call__(self, *_, **__):
        return Inert()

    def __setstate__(self, _):
        pass

    def __setitem__(self, _, __):
        pass

    def append(self, _):
        pass

    def extend(self, _):
        pass


class Storage:
    def __init__(self, dtype, item_bytes, name, count):
        self.dtype, self.item_bytes, self.name, self.count = dtype, item_bytes, name, count


class Tensor:
    def __init__(self, storage, offset, shape, stride):
        self.storage, self.offset, self.shape, self.stride = storage, offset, tuple(shape), tuple(stride)


def rebuild_tensor(storage, offset, shape, stride, *_):
    return Tensor(storage, offset, shape, stride)


def rebuild_parameter(data, *_):
    return data


class TensorUnpickler(pickle.Unpickler):
    """Makes tensors, storages by name, ordered dictionaries and what pickle has without classes; all else is Inert."""

    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if (module, name) in (("torch._utils", "_rebuild_tensor_v2"), ("torch._utils", "_rebuild_tensor")):
            return rebuild_tensor
        if (module, name) == ("torch._utils", "_rebuild_parameter"):
            return rebuild_parameter
        if module in ("torch", "torch.storage") and name in STORAGES:
            return type(name, (Inert,), {"storage": STORAGES[name]})
        return type("Inert", (Inert,), {})

    def persistent_load(self, pid):
        if not isinstance(pid, tuple) or len(pid) != 5 or pid[0] != "storage":
            raise Refusal(f"an object is stored outside the pickle in a way that is not known: {str(pid)[:80]}")
        kind, name, count = pid[1], pid[2], pid[4]
        if not hasattr(kind, "storage"):
            return Storage("", 0, str(name), 0)  # refused only if a tensor of the model needs it
        return Storage(*kind.storage, str(name), int(count))


def read_checkpoint(path):
    """The dictionary of the file, tensors as Tensor, and a function that gives the bytes of one."""
    try:
        archive = zipfile.ZipFile(path)
    except FileNotFoundError:
        raise Refusal(f"{path}: no such file") from None
    except (OSError, zipfile.BadZipFile) as error:
        raise Refusal(f"{path}: no torch zip file ({error}); files of torch before 1.6 must be saved again") from error
    names = archive.namelist()
    pickles = [name for name in names if name.endswith("/data.pkl") and name.count("/") == 1]
    if len(pickles) != 1:
        raise Refusal(f"{path}: a zip file, but without ARCHIVE/data.pkl as torch.save writes it")
    root = pickles[0][:-len("data.pkl")]
    if root + "byteorder" in names and archive.read(root + "byteorder").strip() != b"little":
        raise Refusal(f"{path}: not in little-endian byte order")
    try:
        content = TensorUnpickler(io.BytesIO(archive.read(pickles[0]))).load()
    except Refusal as refusal:
        raise Refusal(f"{path}: {refusal}") from None
    except Exception as error:  # a damaged pickle fails in many ways
        raise Refusal(f"{path}: its pickle cannot be read: {type(error).__name__}: {error}") from error
    if not isinstance(content, dict):
        raise Refusal(f"{path}: holds no dictionary")

    def bytes_of(name, tensor):
        storage = tensor.storage
        if not isinstance(storage, Storage) or not storage.dtype:
            raise Refusal(f"{path}: tensor '{name}' has a type that is not known")
        row_major, size = [], 1
        for extent in reversed(tensor.shape):
            row_major.insert(0, size)
            size *= extent
        for extent, wanted, found in zip(tensor.shape, row_major, tensor.stride):
            if extent > 1 and wanted != found:
                raise Refusal(f"{path}: tensor '{name}' is not contiguous: strides {tensor.stride} of {tensor.shape}")
        try:
            data = archive.read(f"{root}data/{storage.name}")
        except (KeyError, zipfile.BadZipFile, OSError) as error:
            raise Refusal(f"{path}: the bytes of tensor '{name}' cannot be read: {error}") from None
        begin, count = tensor.offset * storage.item_bytes, size * storage.item_bytes
        if begin < 0 or begin + count > len(data):
            raise Refusal(f"{path}: tensor '{name}' needs bytes {begin} to {begin + count} of {len(data)}")
        return data[begin:begin + count]

    return content, bytes_of


def model_tensors(path, content):
    """Tensors of the model by the names of config.json's architecture."""
    state = content.get("state_dict")
    if not isinstance(state, dict):
        raise Refusal(f"{path}: has no 'state_dict'; it is no Lightning checkpoint")
    tensors, unknown = {}, []
    for key, value in state.items():
        name = str(key).replace("_orig_mod.", "")  # torch.compile's wrapper
        if name.startswith("net.model.") and isinstance(value, Tensor):
            tensors[name[len("net.model."):]] = value
        elif not name.startswith(("criterion.", "metrics.")):
            unknown.append(str(key))
    if unknown:
        raise Refusal(f"{path}: state_dict has {len(unknown)} entries that are no tensors of net.model: "
                      + ", ".join(unknown[:5]))
    for needed in ("model.embed_tokens.weight", "model.norm.weight", "model.layers.0.self_attn.q_proj.weight",
                   "model.layers.0.self_attn.k_proj.weight", "model.layers.0.mlp.gate_proj.weight"):
        if needed not in tensors:
            raise Refusal(f"{path}: state_dict has no 'net.model.{needed}'")
    return tensors


def read_settings(path, replaced):
    """model.net of a Hydra configuration, references to keys beside resolved."""
    settings = {}
    if path:
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise Refusal(f"{path}: {error}") from error
        try:
            if path.endswith(".json"):
                tree = json.loads(text)
            else:
                try:
                    import yaml
                except ImportError:
                    raise Refusal(f"{path}: reading YAML needs python3-yaml; install it, or give JSON or --set") from None
                tree = yaml.safe_load(text)
        except Refusal:
            raise
        except Exception as error:  # yaml.YAMLError, json.JSONDecodeError
            raise Refusal(f"{path}: " + " ".join(str(error).split())) from error
        settings = tree.get("model", {}).get("net") if isinstance(tree, dict) and isinstance(tree.get("model"), dict) else None
        if not isinstance(settings, dict):
            raise Refusal(f"{path}: has no model.net; give the .hydra/config.yaml of the run")
    settings = dict(settings)
    for text in replaced:
        key, equals, value = text.partition("=")
        if not equals:
            raise Refusal(f"--set {text}: write KEY=VALUE")
        try:
            settings[key] = json.loads(value)
        except ValueError:
            settings[key] = value
    for key, value in settings.items():
        for _ in range(8):
            reference = re.fullmatch(r"\$\{\.(\w+)\}", value) if isinstance(value, str) else None
            if not reference:
                break
            value = settings.get(reference.group(1))
        if isinstance(value, str) and "${" in value:
            raise Refusal(f"model.net.{key} is '{value}', which refers to another place; give it with --set {key}=...")
        settings[key] = value
    return settings


def make_config(path, settings, tensors):
    unknown = sorted(set(settings) - COMPUTATION - SIZES - HARMLESS - {"model_class"})
    if unknown:
        raise Refusal(f"model.net has keys that are not known and might change the computation: {', '.join(unknown)}")
    if str(settings.get("model_class", MODEL_CLASS)).rpartition(".")[2] != MODEL_CLASS:
        raise Refusal(f"model.net.model_class is '{settings['model_class']}'; only {MODEL_CLASS} can be converted")
    if "entmax_alpha" not in settings:
        raise Refusal("entmax_alpha is not given; name the run's configuration with --config, or --set entmax_alpha=...")
    vocab, hidden = tensors["model.embed_tokens.weight"].shape
    layers = {int(match.group(1)) for match in (re.match(r"model\.layers\.(\d+)\.", name) for name in tensors) if match}
    query_rows = tensors["model.layers.0.self_attn.q_proj.weight"].shape[0]
    key_rows = tensors["model.layers.0.self_attn.k_proj.weight"].shape[0]
    heads, dim = settings.get("num_attention_heads"), settings.get("head_dim")
    if not heads and not dim:
        raise Refusal("neither num_attention_heads nor head_dim is given; add --set num_attention_heads=...")
    heads = heads or query_rows // dim
    dim = dim or query_rows // heads
    if heads * dim != query_rows or key_rows % dim:
        raise Refusal(f"{path}: q_proj has {query_rows} rows and k_proj {key_rows}, which is not {heads} heads of {dim}")
    found = {"vocab_size": vocab, "hidden_size": hidden, "num_hidden_layers": len(layers), "num_attention_heads": heads,
             "num_key_value_heads": key_rows // dim, "head_dim": dim,
             "intermediate_size": tensors["model.layers.0.mlp.gate_proj.weight"].shape[0]}
    for key, value in found.items():
        if settings.get(key) not in (None, value):
            raise Refusal(f"{path}: {key} is {value} by its tensors and {settings[key]} by the configuration")
    config = {"architectures": [MODEL_CLASS], "model_type": "gemma2", **found, **INHERITED}
    config.update({key: settings[key] for key in settings if key in COMPUTATION})
    if not config["tie_word_embeddings"] and "lm_head.weight" not in tensors:
        raise Refusal(f"{path}: has no lm_head.weight although tie_word_embeddings is false")
    return config


def safetensors_pieces(tensors, bytes_of):
    """The file's bytes, in order."""
    order = sorted(tensors, key=lambda name: (-tensors[name].storage.item_bytes, name))
    header, data, offset = {}, [], 0
    for name in order:
        tensor = tensors[name]
        piece = bytes_of(name, tensor)
        header[name] = {"dtype": tensor.storage.dtype, "shape": list(tensor.shape),
                        "data_offsets": [offset, offset + len(piece)]}
        data.append(piece)
        offset += len(piece)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return [len(text).to_bytes(8, "little") + text, *data]


def convert(options):
    content, bytes_of = read_checkpoint(options.checkpoint)
    tensors = model_tensors(options.checkpoint, content)
    config = make_config(options.checkpoint, read_settings(options.config, options.set), tensors)
    if os.path.exists(os.path.join(options.output, "config.json")):
        raise Refusal(f"{options.output}: already holds a checkpoint; choose another -o")
    with open(options.checkpoint, "rb") as file:
        digest = hashlib.sha256()
        for piece in iter(lambda: file.read(1 << 20), b""):
            digest.update(piece)
    facts = {"source": os.path.basename(options.checkpoint), "source_sha256": digest.hexdigest()}
    for key in ("epoch", "global_step", "pytorch-lightning_version"):
        if isinstance(content.get(key), (int, str)):
            facts[key] = str(content[key])
    origin = {"name": options.name or os.path.basename(os.path.abspath(options.output)),
              "train_length": options.train_length, "facts": facts}
    pieces = safetensors_pieces(tensors, bytes_of)  # nothing is written before all is read
    os.makedirs(options.output, exist_ok=True)
    with open(os.path.join(options.output, "model.safetensors"), "wb") as file:
        file.writelines(pieces)
    for name, value in (("origin.json", origin), ("config.json", config)):
        with open(os.path.join(options.output, name), "w", encoding="utf-8") as file:
            file.write(json.dumps(value, indent=1) + "\n")
    print(f"{options.output}: {len(tensors)} tensors, {sum(math.prod(t.shape) for t in tensors.values())} parameters")


def main():
    parser = argparse.ArgumentParser(prog="convert_asentmax.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", help="the .ckpt file that Lightning saved")
    parser.add_argument("-o", "--output", required=True, help="folder of the converted checkpoint")
    parser.add_argument("--config", default="", help="the run's .hydra/config.yaml, or the same as .json")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a key of model.net")
    parser.add_argument("--name", default="", help="as shown in tables (default: the folder's name)")
    parser.add_argument("--train-length", type=int, default=0, help="longest training length, if known")
    try:
        convert(parser.parse_args())
    except Refusal as refusal:
        print(f"convert_asentmax.py: error: {refusal}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"convert_asentmax.py: error: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
