"""The Python side of lenbench: Records as dicts, and ways to hand a model written in Python to the program.

    lenbench.read_records("out.jsonl")            a list of dicts; read_frame(...) a pandas DataFrame
    lenbench.export_torchscript(module, "m.pt", vocab_size=390)    a file for `lenbench run m.pt`
    lenbench.adapter                              serves a model to `lenbench run 'exec:...'`
"""

from lenbench.records import RecordError, read_frame, read_records
from lenbench.torchscript import export_torchscript

__all__ = ["RecordError", "export_torchscript", "read_frame", "read_records"]
