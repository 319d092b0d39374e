"""The steps of tools/gpu_check.sh, which says what they are: each ends as ok, failed or missing, with its figures or a reason."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODEL = "recall-asentmax-nape"
STEPS = ["machine", "build", "cuda tests", "lenbench bench", "peers", "evaluate 65536", "evaluate 1048576"]


class Missing(Exception):
    """A figure that cannot be had here, and why."""


class Failed(Exception):
    """A step that ran and went wrong."""


def usage(message):
    print(f"gpu_check: error: {message}; see the head of tools/gpu_check.sh", file=sys.stderr)
    sys.exit(2)


def parse(arguments):
    options = {"-o": "build/gpu-check.json", "--build": "build/gpu", "--minutes": "8", "--samples": "4"}
    rest = list(arguments)
    while rest:
        flag = rest.pop(0)
        if flag in ("-h", "--help"):
            script = (ROOT / "tools/gpu_check.sh").read_text(encoding="utf-8").splitlines()[1:]
            print("\n".join(line[2:] for line in script[: script.index("set -euo pipefail")]))
            sys.exit(0)
        if flag not in options:
            usage(f"unknown argument {flag}")
        if not rest or not rest[0]:
            usage(f"{flag} needs a value")
        options[flag] = rest.pop(0)
    for flag in ("--minutes", "--samples"):
        if not re.fullmatch(r"[1-9][0-9]{0,3}", options[flag]):
            usage(f"{flag} is {options[flag]}, it must be a whole number of at least 1")
    return options


class Check:
    def __init__(self, options):
        self.options = options
        self.end = time.monotonic() + 60 * int(options["--minutes"])
        self.build = (ROOT / options["--build"]).resolve()
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="gpu-check-"))
        self.results = {}
        self.architecture = ""

    def run(self, command, limit, environment=None):
        """Standard output of a command; Failed with its last words when it fails or takes longer than `limit` seconds."""
        limit = min(limit, self.end - time.monotonic())
        if limit < 5:
            raise Missing(f"no time left for {pathlib.Path(command[0]).name} (--minutes {self.options['--minutes']})")
        try:
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=limit,
                                  env={**os.environ, **(environment or {})})
        except FileNotFoundError as error:
            raise Missing(f"{command[0]}: not found") from error
        except subprocess.TimeoutExpired as error:
            raise Failed(f"{pathlib.Path(command[0]).name} took longer than {limit:.0f} s") from error
        if done.returncode != 0:
            words = (done.stderr.strip() or done.stdout.strip()).splitlines()
            raise Failed(f"{pathlib.Path(command[0]).name} ended with {done.returncode}: {' | '.join(words[-3:])[:500]}")
        return done.stdout

    def step(self, name, action, *needs):
        broken = [need for need in needs if self.results[need]["status"] != "ok"]
        started = time.monotonic()
        result = {"status": "ok", "seconds": 0.0, "reason": "", "figures": {}}
        try:
            if broken:
                raise Missing(f"the step '{broken[0]}' is {self.results[broken[0]]['status']}: {self.results[broken[0]]['reason']}")
            print(f"gpu_check: {name}", file=sys.stderr, flush=True)
            result["figures"] = action()
        except Missing as reason:
            result.update(status="missing", reason=str(reason))
        except Failed as reason:
            result.update(status="failed", reason=str(reason))
        except (KeyError, ValueError, OSError) as error:
            result.update(status="failed", reason=f"unexpected output: {type(error).__name__}: {error}")
        result["seconds"] = round(time.monotonic() - started, 2)
        self.results[name] = result

    def machine(self):
        fields = ["name", "driver_version", "memory.total", "compute_cap"]
        try:
            text = self.run(["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader"], 60)
        except Missing as error:
            raise Missing("no CUDA device: nvidia-smi was not found") from error
        except Failed as error:
            raise Missing(f"no CUDA device: {error}") from error
        if not text.strip():
            raise Missing("no CUDA device: nvidia-smi lists none")
        first = [value.strip() for value in text.strip().splitlines()[0].split(",")]
        found = dict(zip(fields, first, strict=True))
        major, minor = found["compute_cap"].split(".")
        # sm_90a and sm_100a have what sm_90 and sm_100 lack, and nothing here needs it.
        self.architecture = f"{major}{minor}"
        if int(major) < 8:
            raise Missing(f"{found['name']} has compute capability {found['compute_cap']}; the kernels need 8.0")
        found["devices"] = len(text.strip().splitlines())
        return found

    def libtorch(self):
        if os.environ.get("LIBTORCH_ROOT"):
            return os.environ["LIBTORCH_ROOT"]
        try:
            text = self.run([sys.executable, "-c", "import os, torch; print(os.path.dirname(torch.__file__))"], 120)
        except Failed as error:
            raise Missing(f"no LibTorch: LIBTORCH_ROOT is not set and python3 cannot import torch ({error})") from error
        return text.strip()

    def compile(self):
        command = ["cmake", "-S", str(ROOT), "-B", str(self.build), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                   f"-DLIBTORCH_ROOT={self.libtorch()}", "-DLENBENCH_CUDA=ON", "-DLENBENCH_WERROR=OFF",
                   f"-DLENBENCH_CUDA_ARCHITECTURES={self.architecture}-real"]
        packed = ROOT / "build/packed"
        if packed.is_dir():
            command += [f"-DCMAKE_PREFIX_PATH={packed}", f"-DOPENSSL_ROOT_DIR={packed}", f"-DBOOST_ROOT={packed}"]
        started = time.monotonic()
        self.run(command, 120)
        configured = time.monotonic()
        self.run(["cmake", "--build", str(self.build), "--target", "lenbench", "lenbench_nn", "lenbench_kernels_cuda_tests", "lenbench_model_tests"], 300)
        return {"configure_seconds": round(configured - started, 1), "build_seconds": round(time.monotonic() - configured, 1)}

    def program(self, name):
        return str(self.build / "bin" / name)

    def tests(self):
        report = self.work / "tests.json"
        try:
            text = self.run([self.program("lenbench_kernels_cuda_tests"), f"--gtest_output=json:{report}"], 120)
        except Failed as error:
            if not report.exists():
                raise
            listed = json.loads(report.read_text(encoding="utf-8"))
            bad = [case["name"] for suite in listed["testsuites"] for case in suite["testsuite"] if case.get("failures")]
            raise Failed(f"{listed['failures']} of {listed['tests']} tests failed: {', '.join(bad) or error}") from error
        listed = json.loads(report.read_text(encoding="utf-8"))
        figures = {"tests": listed["tests"], "failures": listed["failures"]}
        models = self.run([self.program("lenbench_model_tests"), "--gtest_filter=Cuda.*"], 120)
        passed = re.search(r"\[  PASSED  \] (\d+) test", models)
        if "[  SKIPPED ]" in models or not passed:
            raise Missing("the models' tests found no CUDA device: " + " ".join(models.split())[-300:])
        figures["model_tests"] = int(passed.group(1))
        measured = re.search(r"largest product error: ([0-9.]+) \* 2\^-23", text)
        if measured:
            figures["largest_product_error_2^-23"] = float(measured.group(1))
        return figures

    def bench(self):
        figures = {}
        for length, head_dim in ((4096, 64), (16384, 64), (65536, 64), (65536, 128)):
            text = self.run([self.program("lenbench"), "bench", "--device", "cuda", "--length", str(length), "--head-dim",
                             str(head_dim), "--json"], 90)
            figures[f"{length} x {head_dim}"] = json.loads(text)["timings"]
        return figures

    def peers(self):
        try:
            text = self.run([sys.executable, str(ROOT / "tools/gpu_peers.py")], 120)
        except Failed as error:
            if "No module named 'torch'" in str(error):
                raise Missing("python3 cannot import torch") from error
            raise
        return json.loads(text)

    def evaluate(self, length, samples):
        records = self.work / f"{length}.jsonl"
        self.run([self.program("lenbench"), "run", MODEL, "--tasks", "recall", "--lengths", str(length), "--samples",
                  str(samples), "--device", "cuda", "--quiet", "-o", str(records)], 150)
        record = json.loads(records.read_text(encoding="utf-8").splitlines()[-1])
        if record["status"] != "ok":
            raise Failed(f"the record says {record['status']}: {record['reason']}")
        measurement = record["measurement"]
        return {"model": MODEL, "tokens": measurement["effective_tokens_max"], "samples": measurement["samples"],
                "seconds_a_sample": measurement["seconds"] / measurement["samples"], "exact_match": measurement["exact"]["value"],
                "dtype": record["subject"]["dtype"], "device": record["subject"]["device"]}

    def all(self):
        samples = int(self.options["--samples"])
        self.step("machine", self.machine)
        self.step("build", self.compile, "machine")
        self.step("cuda tests", self.tests, "machine", "build")
        self.step("evaluate 65536", lambda: self.evaluate(65536, samples), "machine", "build")
        self.step("lenbench bench", self.bench, "machine", "build")
        self.step("evaluate 1048576", lambda: self.evaluate(1048576, 1), "machine", "build")
        self.step("peers", self.peers, "machine")
        shutil.rmtree(self.work, ignore_errors=True)
        return {"schema": 1, "started_at": self.started_at, "steps": {name: self.results[name] for name in STEPS}}

    started_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def main():
    options = parse(sys.argv[1:])
    target = ROOT / options["-o"]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(target, "a", encoding="utf-8"):
            pass
    except OSError as error:
        usage(f"{options['-o']} cannot be written ({error.strerror})")
    report = Check(options).all()
    target.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    worst = 0
    for name, result in report["steps"].items():
        print(f"{name}: {result['status']}" + (f" ({result['reason']})" if result["reason"] else ""))
        worst = 1 if result["status"] == "failed" or worst == 1 else 3 if result["status"] == "missing" else worst
    print(options["-o"])
    return worst


if __name__ == "__main__":
    sys.exit(main())
