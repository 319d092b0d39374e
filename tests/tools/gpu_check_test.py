"""tools/gpu_check.sh without a GPU: its arguments, the JSON file, and what becomes of each step when something is missing.
Programs of a machine with a GPU are played by scripts on the PATH."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS = ["machine", "build", "cuda tests", "lenbench bench", "peers", "evaluate 65536", "evaluate 1048576"]

TESTS = """#!/bin/sh
for flag; do case "$flag" in --gtest_output=json:*) out="${flag#--gtest_output=json:}" ;; esac; done
echo '{"tests": 9, "failures": FAILURES, "testsuites": [{"testsuite": [{"name": "Odd", "failures": [1]}]}]}' > "$out"
echo 'largest product error: 2.50 * 2^-23 of the magnitudes'
exit FAILURES
"""
PROGRAM = """#!/bin/sh
if [ "$1" = bench ]; then echo '{"timings": [{"kernel": "sdpa"}]}'; exit 0; fi
while [ $# -gt 0 ]; do [ "$1" = -o ] && out="$2"; [ "$1" = --lengths ] && length="$2"; shift; done
[ "$length" = 1048576 ] && { echo 'lenbench: error: out of memory' >&2; exit 3; }
echo '{"status": "ok", "reason": "", "subject": {"dtype": "float32", "device": "cuda"}, "measurement":
{"effective_tokens_max": 65560, "samples": 4, "seconds": 2.0, "exact": {"value": 0.75}}}' | tr -d '\\n' > "$out"
"""


class GpuCheck(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.bin = pathlib.Path(self.folder.name, "bin")
        self.bin.mkdir()
        self.json = pathlib.Path(self.folder.name, "out", "check.json")

    def tearDown(self):
        self.folder.cleanup()

    def script(self, name, text):
        path = self.bin / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def run_check(self, *arguments, **environment):
        return subprocess.run([ROOT / "tools/gpu_check.sh", *arguments], capture_output=True, text=True,
                              env={**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}", "LIBTORCH_ROOT": "/nowhere", **environment})

    def steps(self):
        return json.loads(self.json.read_text(encoding="utf-8"))["steps"]

    def with_gpu(self, failures=0):
        """A machine where all runs, but the longest evaluation and a torch to import."""
        self.script("nvidia-smi", "#!/bin/sh\necho 'NVIDIA H200, 580.1, 143771 MiB, 9.0'\n")
        self.script("cmake", f"#!/bin/sh\necho \"$@\" >> {self.folder.name}/cmake.log\n")
        (self.bin.parent / "build" / "bin").mkdir(parents=True)
        for name, text in (("lenbench_kernels_cuda_tests", TESTS.replace("FAILURES", str(failures))), ("lenbench", PROGRAM),
                           ("lenbench_model_tests", "#!/bin/sh\necho '[  PASSED  ] 3 tests.'\n")):
            path = self.bin.parent / "build" / "bin" / name
            path.write_text(text, encoding="utf-8")
            path.chmod(0o755)
        torch = self.bin.parent / "python" / "torch"
        torch.mkdir(parents=True)
        (torch / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\")\n", encoding="utf-8")
        return self.run_check("-o", str(self.json), "--build", str(self.bin.parent / "build"), PYTHONPATH=str(torch.parent))

    def test_arguments_that_mean_nothing(self):
        for arguments, said in ((["--what"], "unknown argument --what"), (["-o"], "-o needs a value"),
                                (["--minutes", "soon"], "--minutes is soon"), (["--samples", "0"], "--samples is 0"),
                                (["-o", "/proc/none/x.json"], "cannot be written")):
            done = self.run_check(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(said, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)

    def test_help_says_what_it_does(self):
        done = self.run_check("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("--minutes N", done.stdout)

    def test_no_device(self):
        self.script("nvidia-smi", "#!/bin/sh\necho 'NVIDIA-SMI has failed' >&2\nexit 9\n")
        done = self.run_check("-o", str(self.json))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(list(self.steps()), STEPS)
        for name, step in self.steps().items():
            self.assertEqual(step["status"], "missing", name)
            self.assertIn("no CUDA device", step["reason"], name)
            self.assertEqual(step["figures"], {})

    def test_an_old_device(self):
        self.script("nvidia-smi", "#!/bin/sh\necho 'Tesla T4, 1.0, 16 GiB, 7.5'\n")
        self.assertEqual(self.run_check("-o", str(self.json)).returncode, 3)
        self.assertIn("the kernels need 8.0", self.steps()["machine"]["reason"])

    def test_figures_and_reasons(self):
        done = self.with_gpu()
        steps = self.steps()
        self.assertEqual(steps["machine"]["figures"]["name"], "NVIDIA H200")
        self.assertEqual(steps["cuda tests"]["figures"], {"tests": 9, "failures": 0, "model_tests": 3, "largest_product_error_2^-23": 2.5})
        self.assertEqual(len(steps["lenbench bench"]["figures"]), 4)
        self.assertEqual(steps["evaluate 65536"]["figures"]["seconds_a_sample"], 0.5)
        self.assertEqual(steps["evaluate 65536"]["figures"]["exact_match"], 0.75)
        self.assertEqual(steps["evaluate 1048576"]["status"], "failed")
        self.assertIn("out of memory", steps["evaluate 1048576"]["reason"])
        self.assertEqual((steps["peers"]["status"], steps["peers"]["reason"]), ("missing", "python3 cannot import torch"))
        self.assertEqual(done.returncode, 1)  # a failure weighs more than what is missing
        log = pathlib.Path(self.folder.name, "cmake.log").read_text(encoding="utf-8")
        self.assertIn("-DLENBENCH_CUDA_ARCHITECTURES=90-real", log)
        self.assertIn("-DLIBTORCH_ROOT=/nowhere", log)

    def test_failed_tests_are_named(self):
        done = self.with_gpu(failures=1)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.steps()["cuda tests"]["reason"], "1 of 9 tests failed: Odd")

    def test_a_failed_build(self):
        self.script("nvidia-smi", "#!/bin/sh\necho 'NVIDIA H200, 580.1, 143771 MiB, 9.0'\n")
        self.script("cmake", "#!/bin/sh\necho 'CMake Error: no nvcc' >&2\nexit 1\n")
        self.assertEqual(self.run_check("-o", str(self.json)).returncode, 1)
        self.assertIn("no nvcc", self.steps()["build"]["reason"])
        self.assertEqual(self.steps()["evaluate 65536"]["status"], "missing")


if __name__ == "__main__":
    unittest.main()
