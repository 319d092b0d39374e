"""Records, as `lenbench run -o` writes them, for Python: plain dicts, or a frame of pandas."""

import json
import warnings

SCHEMA = 1


class RecordError(ValueError):
    """A file that is no file of Records; the message names the file and the line."""


def _object(pairs):
    result = dict(pairs)
    if len(result) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key '{next(key for key in keys if keys.count(key) > 1)}' occurs twice")
    return result


def _refuse_constant(text):
    raise ValueError(f"{text} is no number of JSON")


def _parse(line):
    return json.loads(line.decode("utf-8"), object_pairs_hook=_object, parse_constant=_refuse_constant)


def read_records(path):
    """The Records of one file in order, as dicts with the fields that results/README.md lists.

    Lines end at LF only. A last line that a killed run left unfinished is left out with a warning; anything else that is no
    Record, and a schema newer than this module knows, raises RecordError.
    """
    with open(path, "rb") as file:
        data = file.read()
    lines = data.split(b"\n")
    unfinished = lines.pop()
    records = []
    for number, line in enumerate(lines + ([unfinished] if unfinished else []), 1):
        last = number > len(lines)
        try:
            record = _parse(line)
        except ValueError as error:
            if last and (records or b'{"schema":'.startswith(line[:10])):
                warnings.warn(f"{path}:{number}: the last {len(line)} bytes are no whole record: a run was killed while it "
                              "wrote; left out", stacklevel=2)
                break
            raise RecordError(f"{path}:{number}: {error}") from error
        schema = record.get("schema") if isinstance(record, dict) else None
        if not isinstance(schema, int) or isinstance(schema, bool):
            raise RecordError(f'{path}:{number}: not a lenbench record (an object with a "schema" number)')
        if schema > SCHEMA:
            raise RecordError(f"{path}:{number}: schema {schema} is newer than schema {SCHEMA}, the newest this module reads")
        records.append(record)
    return records


def flat(record):
    """The numbers and names of a Record that a table wants, one level deep: no per-sample outcomes and no heads."""
    question, subject, measured = record["question"], record["subject"], record["measurement"]
    row = {"task": question["task"], "length": question["length"], "data_seed": question["data_seed"],
           "split": question["split"], "metric": question["metric"], "parameters": question["parameters"],
           "model": subject["name"], "checkpoint_sha256": subject["checkpoint_sha256"], "transform": subject["transform"],
           "positions": subject["positions"], "dtype": subject["dtype"], "device": subject["device"],
           "train_length": subject["train_length"], "status": record["status"], "reason": record["reason"],
           "samples": measured["samples"]}
    for kind in ("exact", "answer", "token"):
        proportion = measured.get(kind) or {}
        row[kind] = proportion.get("value")
        row[f"{kind}_low"], row[f"{kind}_high"] = proportion.get("low"), proportion.get("high")
    for name in ("chance", "perplexity", "perplexity_low", "perplexity_high", "bits_per_byte", "seconds", "peak_bytes"):
        row[name] = measured.get(name)
    heads = [head for head in measured.get("heads") or [] if head.get("normalized_entropy") is not None]
    rows = sum(head["rows"] for head in heads)
    row["normalized_entropy"] = sum(head["normalized_entropy"] * head["rows"] for head in heads) / rows if rows else None
    return row


def read_frame(*paths):
    """One row a Record of all files, as a pandas DataFrame of `flat` rows; needs pandas."""
    try:
        import pandas
    except ImportError as error:
        raise RecordError("read_frame needs pandas: pip install pandas, or use read_records") from error
    return pandas.DataFrame([flat(record) for path in paths for record in read_records(path)])
