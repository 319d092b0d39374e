"""The converter on synthetic Lightning checkpoints, written byte for byte as torch.save writes them."""

import collections
import io
import json
import os
import pickle
import subprocess
import sys
import tempfile
import types
import unittest
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOOL = os.path.join(HERE, "..", "..", "tools", "convert_asentmax.py")
REFERENCE = os.path.join(HERE, "..", "model", "reference")
LENBENCH = os.environ.get("LENBENCH_PROGRAM", "")

CLASSES = {"F32": "FloatStorage", "BF16": "BFloat16Storage"}
ITEM_BYTES = {"F32": 4, "BF16": 2}


class FakeTensor:
    """Pickles as a torch tensor does."""

    def __init__(self, storage, shape, offset=0, stride=None):
        self.storage, self.shape, self.offset = storage, tuple(shape), offset
        size, steps = 1, []
        for extent in reversed(self.shape):
            steps.insert(0, size)
            size *= extent
        self.stride = tuple(stride or steps)


class FakeStorage:
    def __init__(self, dtype, name, data):
        self.dtype, self.name, self.data = dtype, name, data


class Evil:
    """Runs a command in whoever unpickles it by its own class."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


def torch_file(path, content, byteorder=b"little"):
    """`content` with FakeTensors as torch.save(content, path) would write it; no torch is needed."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    for name in CLASSES.values():
        setattr(torch, name, type(name, (), {"__module__": "torch"}))

    def rebuild(*_):
        raise AssertionError("only pickled, never called")

    rebuild.__module__, rebuild.__name__, rebuild.__qualname__ = "torch._utils", "_rebuild_tensor_v2", "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2 = rebuild
    storages = {}

    class Pickler(pickle.Pickler):
        def persistent_id(self, value):
            if not isinstance(value, FakeStorage):
                return None
            storages[value.name] = value.data
            return ("storage", getattr(torch, CLASSES[value.dtype]), value.name, "cpu",
                    len(value.data) // ITEM_BYTES[value.dtype])

        def reducer_override(self, value):
            if isinstance(value, FakeTensor):
                return rebuild, (value.storage, value.offset, value.shape, value.stride, False, collections.OrderedDict())
            return NotImplemented

    hidden = {name: sys.modules.get(name) for name in ("torch", "torch._utils")}
    sys.modules.update({"torch": torch, "torch._utils": utils})
    try:
        pickled = io.BytesIO()
        Pickler(pickled, protocol=2).dump(content)
    finally:
        for name, module in hidden.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("last/data.pkl", pickled.getvalue())
        archive.writestr("last/byteorder", byteorder)
        archive.writestr("last/version", "3\n")
        for name, data in storages.items():
            archive.writestr(f"last/data/{name}", data)


def read_safetensors(path):
    with open(path, "rb") as file:
        data = file.read()
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    header.pop("__metadata__", None)
    return {name: (entry["dtype"], entry["shape"], data[end + entry["data_offsets"][0]:end + entry["data_offsets"][1]])
            for name, entry in header.items()}


def reference(name):
    folder = os.path.join(REFERENCE, name)
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        return json.load(file), read_safetensors(os.path.join(folder, "model.safetensors"))


def state_of(tensors):
    return collections.OrderedDict(
        ("net.model." + name, FakeTensor(FakeStorage(dtype, str(number), data), shape))
        for number, (name, (dtype, shape, data)) in enumerate(sorted(tensors.items())))


NET_KEYS = ["num_attention_heads", "num_hidden_layers", "hidden_size", "intermediate_size", "head_dim", "entmax_alpha",
            "apply_rotary", "apply_nape", "attn_scale_type", "attn_scale_proj_bias", "tie_word_embeddings",
            "attn_logit_softcapping", "final_logit_softcapping", "rope_scaling", "rope_theta", "use_fast_attn",
            "max_position_embeddings"]


def net_of(config):
    net = {key: config[key] for key in NET_KEYS if key in config}
    return {"_target_": "src.models.net_wrapper.HFWrapper", "_partial_": True,
            "model_class": "src.models.architectures.sparse_gemma.SparseGemma2ForCausalLM",
            "from_pretrained": "google/gemma-2-2b", "num_key_value_heads": "${.num_attention_heads}",
            "sliding_window": "${.max_position_embeddings}", **net}


class Convert(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.config, self.tensors = reference("asentmax-nape")

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def checkpoint(self, state=None, **more):
        torch_file(self.path("last.ckpt"), {"epoch": 0, "global_step": 1000, "pytorch-lightning_version": "2.4.0",
                                            "state_dict": state_of(self.tensors) if state is None else state, **more})
        return self.path("last.ckpt")

    def settings(self, net=None):
        with open(self.path("config.json"), "w", encoding="utf-8") as file:
            json.dump({"seed": 1, "model": {"net": net_of(self.config) if net is None else net}}, file)
        return self.path("config.json")

    def run_tool(self, *arguments):
        return subprocess.run([sys.executable, TOOL, *arguments], capture_output=True, text=True, check=False, timeout=60)

    def refused(self, part, *arguments):
        done = self.run_tool(*arguments, "-o", self.path("out"))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(part, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertFalse(os.path.exists(self.path("out")))

    def test_tensors_and_configuration_arrive_and_nothing_runs(self):
        mark = self.path("ran")
        checkpoint = self.checkpoint(hyper_parameters={"optimizer": Evil(mark), "net": [Evil(mark)]},
                                     optimizer_states=[{"state": {0: {"m": Evil(mark)}}}], callbacks={"x": {Evil(mark)}})
        done = self.run_tool(checkpoint, "--config", self.settings(), "-o", self.path("out"), "--train-length", "64")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(os.path.exists(mark))
        self.assertEqual(read_safetensors(self.path("out/model.safetensors")), self.tensors)
        with open(self.path("out/config.json"), encoding="utf-8") as file:
            config = json.load(file)
        for key in ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
                    "num_key_value_heads", "head_dim", "entmax_alpha", "apply_nape", "attn_scale_type",
                    "final_logit_softcapping", "tie_word_embeddings"):
            self.assertEqual(config[key], self.config[key], key)
        with open(self.path("out/origin.json"), encoding="utf-8") as file:
            origin = json.load(file)
        self.assertEqual(origin["train_length"], 64)
        self.assertEqual(origin["facts"]["global_step"], "1000")
        if LENBENCH:
            inspected = subprocess.run([LENBENCH, "inspect", self.path("out"), "--json"], capture_output=True, text=True,
                                       check=False)
            self.assertEqual(inspected.returncode, 0, inspected.stderr)
            self.assertEqual(json.loads(inspected.stdout)["transform"], "asentmax")

    def test_bfloat16_views_into_one_storage_and_compiled_names(self):
        shape = self.tensors["model.norm.weight"][1]
        data = bytes(range(2 * shape[0])) * 3
        shared = FakeStorage("BF16", "900", data)
        state = state_of(self.tensors)
        state["net._orig_mod.model.model.norm.weight"] = FakeTensor(shared, shape, offset=shape[0])
        del state["net.model.model.norm.weight"]
        done = self.run_tool(self.checkpoint(state), "--config", self.settings(), "-o", self.path("out"))
        self.assertEqual(done.returncode, 0, done.stderr)
        norm = read_safetensors(self.path("out/model.safetensors"))["model.norm.weight"]
        self.assertEqual(norm, ("BF16", shape, data[2 * shape[0]:4 * shape[0]]))

    def test_without_a_configuration_keys_are_set(self):
        checkpoint = self.checkpoint()
        self.refused("entmax_alpha is not given", checkpoint)
        self.refused("neither num_attention_heads nor head_dim", checkpoint, "--set", "entmax_alpha=1.5")
        keys = ["entmax_alpha=1.5", "head_dim=8", "apply_rotary=false", "apply_nape=true", "tie_word_embeddings=false",
                "attn_scale_type=adapt-softplus-tanh", "attn_scale_proj_bias=true", "final_logit_softcapping=null"]
        done = self.run_tool(checkpoint, "-o", self.path("out"), *[word for key in keys for word in ("--set", key)])
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("out/config.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["num_attention_heads"], 6)
        self.assertEqual(self.run_tool(checkpoint, "-o", self.path("out"), *[w for k in keys for w in ("--set", k)]).returncode, 2)

    def test_what_is_not_known_is_refused_by_name(self):
        checkpoint, net = self.checkpoint(), net_of(self.config)
        self.refused("attn_window", checkpoint, "--config", self.settings({**net, "attn_window": 4}))
        self.refused("model_class is 'x.Other'", checkpoint, "--config", self.settings({**net, "model_class": "x.Other"}))
        self.refused("hidden_size is 48 by its tensors and 64", checkpoint, "--config", self.settings({**net, "hidden_size": 64}))
        self.refused("refers to another place", checkpoint, "--config", self.settings({**net, "head_dim": "${oc.env:D}"}))
        self.refused("has no model.net", checkpoint, "--config", self.settings_without_net())
        extra = state_of(self.tensors)
        extra["teacher.weight"] = FakeTensor(FakeStorage("F32", "901", b"\0" * 4), [1])
        self.refused("teacher.weight", self.checkpoint(extra), "--config", self.settings())

    def settings_without_net(self):
        with open(self.path("other.json"), "w", encoding="utf-8") as file:
            json.dump({"model": {}}, file)
        return self.path("other.json")

    def test_damaged_files_are_one_line(self):
        settings = self.settings()
        self.refused("no such file", self.path("absent.ckpt"), "--config", settings)
        for name, data, part in (("text.ckpt", b"not a zip", "no torch zip file"), ("pickle.ckpt", b"\x80\x02}q\0.", "no torch zip file")):
            with open(self.path(name), "wb") as file:
                file.write(data)
            self.refused(part, self.path(name), "--config", settings)
        with zipfile.ZipFile(self.path("other.zip"), "w") as archive:
            archive.writestr("a/b", "c")
        self.refused("without ARCHIVE/data.pkl", self.path("other.zip"), "--config", settings)
        with zipfile.ZipFile(self.path("cut.ckpt"), "w") as archive:
            archive.writestr("a/data.pkl", b"\x80\x02}q\x00(X\x05")
        self.refused("its pickle cannot be read", self.path("cut.ckpt"), "--config", settings)
        short = state_of(self.tensors)
        short["net.model.model.norm.weight"] = FakeTensor(FakeStorage("F32", "902", b"\0" * 8), [48])
        self.refused("needs bytes 0 to 192 of 8", self.checkpoint(short), "--config", settings)
        turned = state_of(self.tensors)
        turned["net.model.model.norm.weight"] = FakeTensor(FakeStorage("F32", "903", b"\0" * 4096), [48], stride=[2])
        self.refused("not contiguous", self.checkpoint(turned), "--config", settings)
        torch_file(self.path("big.ckpt"), {"state_dict": {}}, byteorder=b"big")
        self.refused("little-endian", self.path("big.ckpt"), "--config", settings)
        torch_file(self.path("list.ckpt"), [1])
        self.refused("holds no dictionary", self.path("list.ckpt"), "--config", settings)

    def test_yaml(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("yaml is not installed (python3-yaml)")
        with open(self.path("config.yaml"), "w", encoding="utf-8") as file:
            yaml.safe_dump({"model": {"net": net_of(self.config)}}, file)
        done = self.run_tool(self.checkpoint(), "--config", self.path("config.yaml"), "-o", self.path("out"))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_file_that_torch_wrote(self):
        try:
            import torch
        except ImportError:
            self.skipTest("torch is not installed")
        state = {"net.model." + name: torch.frombuffer(bytearray(data), dtype=torch.float32).reshape(shape)
                 for name, (_, shape, data) in self.tensors.items()}
        state["net.model.model.norm.weight"] = torch.nn.Parameter(state["net.model.model.norm.weight"])
        torch.save({"state_dict": state, "global_step": 5, "hyper_parameters": {"a": torch.float32}}, self.path("t.ckpt"))
        done = self.run_tool(self.path("t.ckpt"), "--config", self.settings(), "-o", self.path("out"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(read_safetensors(self.path("out/model.safetensors")), self.tensors)


if __name__ == "__main__":
    unittest.main()
