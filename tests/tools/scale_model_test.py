"""docs/scale.md holds what tools/scale_model.py computes, and the model does what a model of cost must."""

import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tools/scale_model.py"
spec = importlib.util.spec_from_file_location("scale_model", SCRIPT)
scale_model = importlib.util.module_from_spec(spec)
spec.loader.exec_module(scale_model)


class ScaleModel(unittest.TestCase):
    def run_script(self, *arguments):
        return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True)

    def test_the_document_is_what_the_script_computes(self):
        done = self.run_script("--check", str(ROOT / "docs/scale.md"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_another_document_is_noticed_and_written(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "scale.md")
            path.write_text((ROOT / "docs/scale.md").read_text(encoding="utf-8").replace("| 64K | 1 | 3.4", "| 64K | 1 | 3.3"), encoding="utf-8")
            self.assertEqual(self.run_script("--check", str(path)).returncode, 1)
            self.assertEqual(self.run_script("--write", str(path)).returncode, 0)
            self.assertEqual(path.read_text(encoding="utf-8"), (ROOT / "docs/scale.md").read_text(encoding="utf-8"))
            path.write_text("no markers", encoding="utf-8")
            self.assertEqual(self.run_script("--write", str(path)).returncode, 2)
        self.assertEqual(self.run_script("--what", "x").returncode, 2)

    def test_sizes_against_known_ones(self):
        # Llama 2 7B has 6,738,415,616 parameters, 266,240 of them in norms.
        self.assertEqual(scale_model.parameters(scale_model.MODELS["7B"]), 6738415616 - 266240)
        self.assertEqual([scale_model.screen_columns(dict(head_dim=d)) for d in (16, 32, 64, 77, 128)], [32, 48, 80, 80, 144])

    def test_costs_by_hand(self):
        m = dict(layers=2, hidden=8, heads=2, kv_heads=1, head_dim=64, mlp=16, vocab=10)
        # One full layer: q and o of 8 x 128, k and v of 8 x 64, and 3 x 8 x 16; the last one's k and v beside it.
        self.assertEqual(scale_model.layer_parameters(m), 2 * 1024 + 2 * 512 + 384)
        found = scale_model.seconds(m, 1024, 1, "bfloat16")
        self.assertAlmostEqual(found["linear"], 2 * (3456 + 1024) * 1024 / (0.8 * 989e12), places=18)
        self.assertAlmostEqual(found["softmax"], 4 * 64 * 2 * 1024 * 1025 / 2 / 473e12, places=15)
        self.assertEqual(found["gather"], 0)
        need = scale_model.memory(m, 1024, 4, 2)
        self.assertEqual(need["gathered"], 2 * 768 * 64 * 2)
        self.assertEqual(need["columns"], 1024 * 80 * 2)

    def test_more_gpus_never_need_more_memory_and_longer_texts_cost_more(self):
        for m in scale_model.MODELS.values():
            for length in scale_model.LENGTHS:
                needs = [sum(scale_model.memory(m, length, gpus, 4).values()) for gpus in (1, 8, 64)]
                self.assertEqual(needs, sorted(needs, reverse=True))
                low, high = scale_model.seconds(m, length, 8, "float32")["entmax"]
                self.assertLess(low, high)
                self.assertLess(high, scale_model.seconds(m, 2 * length, 8, "float32")["entmax"][0] * 2)


if __name__ == "__main__":
    unittest.main()
