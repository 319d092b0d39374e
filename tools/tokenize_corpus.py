"""Turns texts and byte samples into samples of a pretrained model's own tokens, for `lenbench run --data`.

    # perplexity: windows of 256 and 4,096 tokens
    python3 tools/tokenize_corpus.py text tokenizer.json book.txt --lengths 256,4096 --bos '<s>' -o book.jsonl
    lenbench run my_llama/ --data book.jsonl

    # a needle in text, asked in the model's tokens
    lenbench gen niah-bytes:kind=single-2 --length 8192 --n 50 > needle.jsonl
    python3 tools/tokenize_corpus.py samples tokenizer.json needle.jsonl --bos '<s>' -o needle-ids.jsonl
    lenbench run 'exec:python adapter.py server http://127.0.0.1:8000' --data needle-ids.jsonl

tokenizer.json is that of the model (Hugging Face); reading it needs the PyPI package tokenizers. Lengths count the model's
tokens. docs/tokenizers.md says what is counted and judged.
"""

import argparse
import hashlib
import json
import os
import sys

VERSION = 1
BYTE_VOCAB, BYTE_BOS = 261, 257  # of lenbench's byte tasks: 256 bytes, then pad, bos, eos, mask, sep


class Refusal(Exception):
    """What a user can cause: one line."""


class Encoder:
    """A tokenizer as this tool sees it: encode(text) gives ids and, for each, where it ends in the text, in characters."""

    def __init__(self, path):
        try:
            import tokenizers
        except ImportError:
            raise Refusal("the PyPI package tokenizers is not installed: python3 -m pip install tokenizers") from None
        try:
            with open(path, "rb") as file:
                self.sha256 = hashlib.sha256(file.read()).hexdigest()
            self.tokenizer = tokenizers.Tokenizer.from_file(path)
        except Exception as error:  # tokenizers raises plain Exception
            raise Refusal(f"{path}: {' '.join(str(error).split())}") from error
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self.vocab_size = self.tokenizer.get_vocab_size(with_added_tokens=True)

    def encode(self, text):
        # Special tokens are this tool's to add: a template of the tokenizer would add them to every piece.
        encoding = self.tokenizer.encode(text, add_special_tokens=False)
        return encoding.ids, [end for _, end in encoding.offsets]

    def token_id(self, name):
        return self.tokenizer.token_to_id(name)


def byte_ends(text, ends):
    """Ends in characters as ends in UTF-8 bytes, never falling; the last one is the text's end."""
    sizes = [0]
    for character in text:
        sizes.append(sizes[-1] + len(character.encode()))
    result, last = [], 0
    for end in ends:
        last = max(last, sizes[end])
        result.append(last)
    if result:
        result[-1] = sizes[-1]
    return result


def resolve_bos(encoder, bos):
    if bos == "none":
        return None
    number = int(bos) if bos.isdigit() else encoder.token_id(bos)
    if number is None or number >= encoder.vocab_size:
        raise Refusal(f"--bos '{bos}' is no token of the tokenizer; give its text, its id, or none")
    return number


def text_windows(ids, ends, length, bos):
    """Disjoint windows, as lenbench's task `text`: every token is judged once, the tail is kept. With BOS it stands before
    each window of `length` tokens; without, windows overlap by one token, and the document's first is not judged."""
    begin = 0
    while begin < len(ids):
        end = min(begin + length, len(ids))
        first = begin if bos is not None else begin + 1
        if first >= end:
            return
        head = [] if bos is None else [bos]
        fed = head + ids[begin:end - 1]
        scored = [{"position": at - begin + len(head) - 1, "target": ids[at], "answer": -1, "fed_back": at + 1 < end}
                  for at in range(first, end)]
        start_byte = ends[first - 1] if first > 0 else 0
        yield {"tokens": fed, "scored": scored,
               "facts": {"judged_bytes": ends[end - 1] - start_byte, "offset": ends[begin - 1] if begin > 0 else 0}}
        begin = end if bos is not None else end - 1


def text_samples(encoder, documents, lengths, bos, most):
    encoded = []
    for name, text in documents:
        ids, ends = encoder.encode(text)
        if not ids:
            raise Refusal(f"{name}: the tokenizer makes no token of it")
        encoded.append((name, ids, byte_ends(text, ends)))
    for length in lengths:
        count = 0
        for number, (name, ids, ends) in enumerate(encoded):
            for window in text_windows(ids, ends, length, bos):
                if most and count >= most:
                    break
                window["facts"]["document"] = number
                yield {"address": f"{name}:{length}:{count}", "length": length,
                       "prompt_tokens": window["scored"][0]["position"] + 1, **window}
                count += 1


def spans_of(sample):
    """The text of a byte sample in pieces: (bytes, answer number, or None where nothing is judged)."""
    tokens = sample["tokens"]
    judged = {row["position"] + 1: row for row in sample["scored"]}
    last = sample["scored"][-1]
    whole = tokens if last["fed_back"] else tokens + [last["target"]]
    spans = []
    for at, token in enumerate(whole):
        if token >= 256:
            if token == BYTE_BOS and at == 0:
                continue
            raise Refusal(f"sample {sample.get('address', '?')} has the special token {token} inside; only BOS in front is known")
        row = judged.get(at)
        if row is not None and row["target"] != token:
            raise Refusal(f"sample {sample.get('address', '?')} judges other tokens than those that follow")
        answer = None if row is None else row.get("answer", -1)
        if not spans or spans[-1][1] != answer:
            spans.append([bytearray(), answer])
        spans[-1][0].append(token)
    try:
        return [(bytes(data).decode(), answer) for data, answer in spans]
    except UnicodeDecodeError:
        raise Refusal(f"sample {sample.get('address', '?')} is no UTF-8 text between its answers") from None


def convert_sample(encoder, sample, bos):
    """Context and answers are encoded apart and joined, so that what is judged never depends on what merges over the
    boundary; the fact boundary_merge says whether encoding all at once would give other tokens."""
    spans = spans_of(sample)
    fed, scored = [] if bos is None else [bos], []
    for text, answer in spans:
        ids, _ = encoder.encode(text)
        for token in ids:
            if answer is not None:
                if not fed:
                    raise Refusal(f"sample {sample.get('address', '?')} judges its first token; give --bos")
                scored.append({"position": len(fed) - 1, "target": token, "answer": answer})
            fed.append(token)
    if not scored:
        raise Refusal(f"sample {sample.get('address', '?')} judges nothing")
    joint, _ = encoder.encode("".join(text for text, _ in spans))
    merged = joint != (fed if bos is None else fed[1:])
    positions = {row["position"] + 1 for row in scored}
    if len(fed) - 1 in positions:
        fed = fed[:-1]
    for row in scored:
        row["fed_back"] = row["position"] + 1 < len(fed)
    prompt = scored[0]["position"] + 1
    return {"prompt_tokens": prompt, "tokens": fed, "scored": scored, "facts": {"boundary_merge": int(merged)}}


def read_samples(path):
    try:
        with open(path, encoding="utf-8", newline="\n") as file:
            lines = [json.loads(line) for line in file if line.strip()]
        header, samples = lines[0], lines[1:]
        if header["vocab_size"] != BYTE_VOCAB or header.get("specials", {}).get("bos") != BYTE_BOS:
            raise Refusal(f"{path}: its task has no byte tokens; write it with lenbench gen niah-bytes or another byte task")
        for sample in samples:
            if not sample["scored"] or not sample["tokens"]:
                raise Refusal(f"{path}: a sample judges nothing")
        return header, samples
    except Refusal:
        raise
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise Refusal(f"{path}: no sample file as 'lenbench gen' writes it ({type(error).__name__}: {error})") from error


def converted_samples(encoder, samples, bos):
    """Lengths become the most tokens fed by a sample of the same nominal length."""
    done = [(sample, convert_sample(encoder, sample, bos)) for sample in samples]
    longest = {}
    for sample, new in done:
        longest[sample["length"]] = max(longest.get(sample["length"], 0), len(new["tokens"]))
    for sample, new in done:
        facts = {**sample.get("facts", {}), "bytes": sample["length"], **new.pop("facts")}
        for key in ("pads", "distance", "distance_min", "distance_max", "density"):
            facts.pop(key, None)  # counted in bytes
        yield {"address": sample.get("address", ""), "length": longest[sample["length"]], **new, "facts": facts}


def write_file(path, header, samples):
    lines = [json.dumps(sample, separators=(",", ":")) + "\n" for sample in samples]
    if not lines:
        raise Refusal("no sample came out: the texts are too short")
    header = {**header, "samples": len(lines), "sha256": hashlib.sha256("".join(lines).encode()).hexdigest()}
    temporary = path + ".tmp"
    with open(temporary, "w", encoding="utf-8", newline="\n") as file:
        file.write(json.dumps(header, separators=(",", ":")) + "\n")
        file.writelines(lines)
    os.replace(temporary, path)
    return len(lines)


def read_text(path):
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise Refusal(f"{path}: {error}") from error


def parse_lengths(text):
    try:
        lengths = sorted({int(piece) for piece in text.split(",")})
    except ValueError:
        lengths = []
    if not lengths or lengths[0] < 2:
        raise Refusal(f"--lengths is '{text}'; write numbers of at least 2 with commas between, e.g. 256,4096")
    return lengths


def run(options, encoder):
    bos = resolve_bos(encoder, options.bos)
    vocab = options.vocab_size or encoder.vocab_size
    if vocab < encoder.vocab_size:
        raise Refusal(f"--vocab-size is {vocab}, and the tokenizer has {encoder.vocab_size} tokens")
    header = {"lenbench": "tokenize_corpus", "vocab_size": vocab, "chance": 1 / vocab,
              "parameters": {"tokenizer": encoder.sha256[:16], "bos": options.bos}, "specials": {"bos": -1 if bos is None else bos}}
    if options.what == "text":
        documents = [(os.path.basename(path), read_text(path)) for path in options.texts]
        header |= {"task": "text-ids", "task_version": VERSION, "metric": "perplexity",
                   "comparability": "exact: every token of the documents in disjoint windows, by the model's own tokenizer"}
        samples = text_samples(encoder, documents, parse_lengths(options.lengths), bos, options.samples)
    else:
        original, byte_samples = read_samples(options.samples_file)
        header |= {"task": original["task"] + "-ids", "task_version": original.get("task_version", 1),
                   "metric": original.get("metric", "exact_match"), "comparability": original.get("comparability", ""),
                   "seed": original.get("seed", 0), "split": original.get("split", "test")}
        header["parameters"] |= original.get("parameters", {})
        samples = converted_samples(encoder, byte_samples, bos)
    return write_file(options.output, header, samples)


def main():
    parser = argparse.ArgumentParser(prog="tokenize_corpus.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="what", required=True)
    text = kinds.add_parser("text", help="perplexity of texts in windows of the model's tokens")
    samples = kinds.add_parser("samples", help="samples of a byte task (lenbench gen) in the model's tokens")
    for each in (text, samples):
        each.add_argument("tokenizer", help="the model's tokenizer.json")
    text.add_argument("texts", nargs="+", metavar="TEXT", help="UTF-8 files, one document each")
    samples.add_argument("samples_file", metavar="SAMPLES", help="what 'lenbench gen' of a byte task wrote")
    text.add_argument("--lengths", required=True, help="tokens of a window, e.g. 256,4096")
    text.add_argument("--samples", type=int, default=0, help="most windows a length (default: all)")
    for each in (text, samples):
        each.add_argument("--bos", required=True, help="the model's first token, by its text or id, or none")
        each.add_argument("--vocab-size", type=int, default=0, help="the model's, where it has more than the tokenizer")
        each.add_argument("-o", "--output", required=True)
    options = parser.parse_args()
    try:
        count = run(options, Encoder(options.tokenizer))
    except Refusal as refusal:
        print(f"tokenize_corpus.py: error: {refusal}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"tokenize_corpus.py: error: {error}", file=sys.stderr)
        return 3
    print(f"{options.output}: {count} samples", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
