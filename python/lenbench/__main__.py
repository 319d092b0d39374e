"""The console script of the wheel: `lenbench ...` and `python -m lenbench ...` become the program beside this file."""

import importlib.util
import os
import sys

HOME = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HOME, "bin", "lenbench")


def environment():
    """What the program must know of this Python: where its torch is, and whether it can draw."""
    result = dict(os.environ)
    # Found through its RPATH where torch is installed beside lenbench; elsewhere (a user's or the system's packages) it is not.
    if not os.path.isdir(os.path.join(os.path.dirname(HOME), "torch", "lib")):
        torch = importlib.util.find_spec("torch")
        if torch is not None and torch.origin:
            libraries = os.path.join(os.path.dirname(torch.origin), "lib")
            result["LD_LIBRARY_PATH"] = ":".join(filter(None, [libraries, result.get("LD_LIBRARY_PATH")]))
    if "LENBENCH_PYTHON" not in result and importlib.util.find_spec("vl_convert") is not None:
        result["LENBENCH_PYTHON"] = sys.executable
    return result


def main():
    """Replaces this process, so that exit codes and signals are the program's own."""
    if not os.path.exists(PROGRAM):
        sys.exit(f"lenbench: error: no program at {PROGRAM}: this is the source tree's Python part; run 'pip install .' there, "
                 "or build/release/bin/lenbench")
    os.execve(PROGRAM, [PROGRAM] + sys.argv[1:], environment())


if __name__ == "__main__":
    main()
