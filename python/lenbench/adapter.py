"""Serves a model to `lenbench run 'exec:COMMAND'`: any function from ids to logits, a PyTorch module, or a server.

This one file is all that is needed: import it, copy it, or run it.

    python adapter.py function my_model.py:logits --vocab-size 265      # logits(ids) -> numpy array [B, T, V]
    python adapter.py torch my_model.py:make_model                      # make_model() -> torch.nn.Module
    python adapter.py server http://127.0.0.1:8000 --model NAME         # completions with log-probabilities

In a program of one's own, `serve(function, ...)` or `serve_torch(module, ...)` is the last line. Python 3.9 or newer;
nothing beyond its standard library except what the model itself needs. docs/exec.md describes the protocol.
"""

import argparse
import hashlib
import importlib.util
import json
import math
import os
import sys
import traceback
import urllib.error
import urllib.parse
import urllib.request

PROTOCOL = 1


class Refusal(Exception):
    """What a user can cause; shown without a traceback."""


def take_stdout():
    """Returns standard output for the protocol; what anything else prints goes to standard error from now on."""
    global _protocol_output
    if _protocol_output is None:
        sys.stdout.flush()
        _protocol_output = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
        os.dup2(2, 1)
        sys.stdout = sys.stderr
    return _protocol_output


_protocol_output = None


def answer_requests(predict, hello, source=None):
    """Says `hello`, then answers until standard input ends.

    predict(samples, nats) gets a list of {"tokens", "rows"[, "targets"]} and returns two lists of lists, one value for
    each row: token ids (None: not finite), and nats of the targets (None: not finite). Of the two, the first may be None
    as a whole when `nats` are asked for, the second when they are not.
    """
    output = take_stdout()

    def say(message):
        output.write(json.dumps(message, allow_nan=False, separators=(",", ":")) + "\n")
        output.flush()

    say({"lenbench_exec": PROTOCOL, **hello})
    for line in source if source is not None else sys.stdin.buffer:
        request = json.loads(line)
        if request.get("type") != "predict":
            continue
        try:
            argmax, nats = predict(request["samples"], request["nats"])
        except Exception as error:  # the next request may be answerable
            memory = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
            if not isinstance(error, Refusal) and not memory:
                traceback.print_exc()
            say({"id": request["id"], "error": f"{type(error).__name__}: {error}", "out_of_memory": memory})
            continue
        answers = {"argmax": argmax, "nats": nats if request["nats"] else None}
        say({"id": request["id"], **{key: value for key, value in answers.items() if value is not None}})


def file_hash(*paths):
    digest = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as file:
            digest.update(hashlib.sha256(file.read()).digest())
    return digest.hexdigest()


def _script_hash():
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    return file_hash(script) if script and os.path.isfile(script) else ""


def _finite(value):
    return value if math.isfinite(value) else None


def judge_numpy(logits, targets):
    """Lowest id of the largest logit, and -log softmax(logits)[target] in double precision, for each row of [R, V]."""
    import numpy

    logits = numpy.asarray(logits, dtype=numpy.float64)
    finite = numpy.isfinite(logits).all(axis=-1)
    argmax = [int(best) if ok else None for best, ok in zip(logits.argmax(axis=-1), finite)]
    if targets is None:
        return argmax, None
    largest = logits.max(axis=-1)
    with numpy.errstate(all="ignore"):
        sums = largest + numpy.log(numpy.exp(logits - largest[:, None]).sum(axis=-1))
    nats = sums - logits[numpy.arange(len(targets)), targets]
    return argmax, [_finite(float(value)) if ok else None for value, ok in zip(nats, finite)]


def judge_torch(logits, targets):
    """The same for a torch tensor, on its device."""
    import torch

    logits = logits.to(torch.float64)
    finite = torch.isfinite(logits).all(dim=-1)
    ids = torch.arange(logits.shape[-1], device=logits.device)
    # torch.argmax does not say which of equal logits it takes.
    best = torch.where(logits == logits.amax(dim=-1, keepdim=True), ids, logits.shape[-1]).amin(dim=-1)
    argmax = [token if ok else None for token, ok in zip(best.tolist(), finite.tolist())]
    if targets is None:
        return argmax, None
    wanted = torch.tensor(targets, dtype=torch.long, device=logits.device).unsqueeze(-1)
    nats = torch.logsumexp(logits, dim=-1) - logits.gather(-1, wanted).squeeze(-1)
    return argmax, [_finite(value) if ok else None for value, ok in zip(nats.tolist(), finite.tolist())]


def _by_length(samples):
    """Indices of samples of equal length and equal number of rows, so that nothing is ever padded."""
    groups = {}
    for index, sample in enumerate(samples):
        groups.setdefault((len(sample["tokens"]), len(sample["rows"])), []).append(index)
    return groups.values()


def _predictor(forward, judge):
    """forward(list of equally long token lists, their rows) -> for each sample its logits at its rows, [R, V]."""

    def predict(samples, nats):
        argmax, all_nats = [None] * len(samples), [None] * len(samples)
        for group in _by_length(samples):
            rows = [samples[i]["rows"] for i in group]
            for i, logits in zip(group, forward([samples[i]["tokens"] for i in group], rows)):
                argmax[i], all_nats[i] = judge(logits, samples[i]["targets"] if nats else None)
        return argmax, all_nats

    return predict


def _check_shape(shape, wanted, what):
    if len(shape) != 3 or tuple(shape[:2]) != wanted:
        raise Refusal(f"{what} of shape {tuple(shape)} where [{wanted[0]}, {wanted[1]}, vocabulary] was expected")


def serve(function, *, takes_rows=False, hash=None, **hello):
    """Serves function(ids) -> logits, with numpy: ids [B, T] int64 of equally long samples, logits [B, T, V].

    With takes_rows, function(ids, rows) -> logits [B, R, V] at rows [B, R] only, for vocabularies that would not fit.
    `hello`: name, vocab_size, max_tokens, max_batch, train_length, num_parameters, transform, positions, dtype, device.
    `hash` is that of the running script unless given; give one that covers the weights.
    """
    import numpy

    def forward(tokens, rows):
        ids, at = numpy.array(tokens, dtype=numpy.int64), numpy.array(rows, dtype=numpy.int64)
        logits = numpy.asarray(function(ids, at) if takes_rows else function(ids))
        _check_shape(logits.shape, at.shape if takes_rows else ids.shape, "the function gave logits")
        return logits if takes_rows else (logits[b, at[b]] for b in range(len(at)))

    answer_requests(_predictor(forward, judge_numpy),
                    {"nats": True, "hash": _script_hash() if hash is None else hash, **hello})


def module_hash(module):
    """SHA-256 over names, shapes and bytes of a module's parameters and buffers."""
    import torch

    digest = hashlib.sha256()
    for name, value in sorted(module.state_dict().items()):
        if not isinstance(value, torch.Tensor):
            continue
        value = value.detach().cpu().contiguous()
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
        if value.numel() > 0:
            digest.update(memoryview(value.reshape(-1).view(torch.uint8).numpy()).cast("B"))
    return digest.hexdigest()


def serve_torch(module, *, device="cpu", hash=None, **hello):
    """Serves a torch.nn.Module: module(ids) with ids [B, T] int64 gives logits [B, T, V], alone, first of a tuple, or
    as `.logits`. The hash covers the running script and all weights; name, dtype and the number of parameters are the
    module's unless given."""
    import torch

    module = module.to(device).eval()

    def forward(tokens, rows):
        ids = torch.tensor(tokens, dtype=torch.long, device=device)
        with torch.inference_mode():
            logits = module(ids)
        logits = getattr(logits, "logits", logits)
        logits = logits[0] if isinstance(logits, (tuple, list)) else logits
        _check_shape(logits.shape, tuple(ids.shape), "the module gave logits")
        return (logits[b, torch.tensor(at, dtype=torch.long, device=device)] for b, at in enumerate(rows))

    parameters = list(module.parameters())
    described = {"name": type(module).__name__, "num_parameters": sum(p.numel() for p in parameters), "device": device}
    if parameters:
        described["dtype"] = str(parameters[0].dtype).replace("torch.", "")
    if hash is None:
        hash = hashlib.sha256((_script_hash() + module_hash(module)).encode()).hexdigest()
    answer_requests(_predictor(forward, judge_torch), {"nats": True, "hash": hash, **described, **hello})


class Server:
    """A completions server on the user's own address; prompts are sent as token ids, so no text is tokenized again."""

    def __init__(self, url, model, key="", timeout=3600.0):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Refusal(f"the server's address is '{url}'; write http://HOST:PORT")
        self.url, self.model, self.timeout = url.rstrip("/").removesuffix("/v1"), model, timeout
        self.headers = {"Content-Type": "application/json"}
        if key:
            self.headers["Authorization"] = "Bearer " + key
        loopback = parts.hostname in ("localhost", "127.0.0.1", "::1")
        self.opener = urllib.request.build_opener(*([urllib.request.ProxyHandler({})] if loopback else []))

    def call(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, headers=self.headers)
        try:
            with self.opener.open(request, timeout=self.timeout) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            text = error.read(2000).decode("utf-8", "replace").strip()
            raise Refusal(f"{self.url}{path} answered {error.code}: {text}") from error
        except (OSError, ValueError) as error:
            raise Refusal(f"{self.url}{path}: {error}") from error

    def complete(self, **body):
        return self.call("/v1/completions", {"model": self.model, "temperature": 0, **body})["choices"][0]


def _next_tokens(sample, nats):
    """The text with one token more, so that the last row is one of the prompt; its target where that is known."""
    tokens, rows = sample["tokens"], sample["rows"]
    ending = tokens[-1]
    if nats:
        for row, target in zip(rows, sample["targets"]):
            if row + 1 < len(tokens) and tokens[row + 1] != target:
                raise Refusal("the server gives nats only of the token that follows in the text")
            if row + 1 == len(tokens):
                ending = target
    return tokens + [ending]


def ask_prompt_logprobs(server, sample, nats):
    """vLLM: `prompt_logprobs` lists, for each token of the prompt, ids with rank and log-probability."""
    tokens = _next_tokens(sample, nats)
    found = server.complete(prompt=tokens, max_tokens=1, prompt_logprobs=1).get("prompt_logprobs")
    if not isinstance(found, list) or len(found) != len(tokens):
        raise Refusal("the server gave no prompt_logprobs, one for each token of the prompt")
    argmax, values = [], []
    for row in sample["rows"]:
        entries = found[row + 1]
        first = [int(token) for token, entry in entries.items() if entry.get("rank") == 1]
        if not first:
            raise Refusal("the server's prompt_logprobs lack the token of rank 1")
        argmax.append(min(first))
        values.append(_finite(-float(entries[str(tokens[row + 1])]["logprob"])) if nats else None)
    return argmax, values


def ask_echo(server, sample, nats):
    """Servers with `echo` and `logprobs`: nats of the text, but tokens as strings, so no argmax."""
    if not nats:
        raise Refusal("a server in style echo names tokens by their text, so only perplexity can be measured")
    tokens = _next_tokens(sample, nats)
    found = server.complete(prompt=tokens, max_tokens=1, echo=True, logprobs=1).get("logprobs") or {}
    values = found.get("token_logprobs") or []
    if len(values) < len(tokens):
        raise Refusal(f"the server gave {len(values)} token_logprobs for {len(tokens)} tokens")
    return None, [_finite(-float(values[row + 1])) for row in sample["rows"]]


def ask_llama_cpp(server, sample, nats):
    """llama.cpp's own endpoint, one generated token for each row; it keeps the common prefix in its cache."""
    if nats:
        raise Refusal("a server in style llama-cpp gives no nats of given tokens")
    argmax = []
    for row in sample["rows"]:
        body = {"prompt": sample["tokens"][:row + 1], "n_predict": 1, "temperature": 0, "cache_prompt": True,
                "return_tokens": True, "ignore_eos": False}
        tokens = server.call("/completion", body).get("tokens")
        if not tokens:
            raise Refusal("the server gave no token ids; llama.cpp's server does, with return_tokens")
        argmax.append(int(tokens[0]))
    return argmax, None


STYLES = {"prompt-logprobs": (ask_prompt_logprobs, True), "echo": (ask_echo, True), "llama-cpp": (ask_llama_cpp, False)}


def serve_server(url, *, model="", style="prompt-logprobs", key="", timeout=3600.0, **hello):
    """Serves a completions server. One sample is one request (llama-cpp: one for each row)."""
    server = Server(url, model, key, timeout)
    ask, gives_nats = STYLES[style]
    if style != "llama-cpp":
        models = {entry["id"]: entry for entry in server.call("/v1/models").get("data", [])}
        if not server.model and len(models) == 1:
            server.model = next(iter(models))
        if server.model not in models:
            raise Refusal(f"the server has no model '{server.model}'; it has: {', '.join(models) or 'none'}")
        limit = models[server.model].get("max_model_len")
        # One token is added to the text and one generated.
        if isinstance(limit, int) and "max_tokens" not in hello:
            hello["max_tokens"] = max(1, limit - 2)

    def predict(samples, nats):
        answers = [ask(server, sample, nats) for sample in samples]
        argmax, values = [answer[0] for answer in answers], [answer[1] for answer in answers]
        return (None if None in argmax else argmax), values

    answer_requests(predict, {"name": server.model or "llama.cpp", "nats": gives_nats, "max_batch": 1, **hello})


def load(place):
    """The thing named NAME in the Python file FILE, given as FILE:NAME."""
    path, colon, name = place.rpartition(":")
    if not colon or not os.path.isfile(path):
        raise Refusal(f"'{place}' is no FILE.py:NAME")
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(path))[0], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, name):
        raise Refusal(f"'{path}' has no '{name}'")
    return getattr(module, name), path


def _arguments(arguments):
    parser = argparse.ArgumentParser(prog="adapter.py", description=__doc__.split("\n\n")[0])
    kinds = parser.add_subparsers(dest="kind", required=True)
    function = kinds.add_parser("function", help="FILE.py:NAME, a function of ids [B, T] that gives logits [B, T, V]")
    function.add_argument("place", metavar="FILE:NAME")
    function.add_argument("--takes-rows", action="store_true", help="NAME(ids, rows) gives logits [B, R, V]")
    torch = kinds.add_parser("torch", help="FILE.py:NAME, a function without arguments that gives a torch.nn.Module")
    torch.add_argument("place", metavar="FILE:NAME")
    torch.add_argument("--device", default="cpu")
    server = kinds.add_parser("server", help="an OpenAI-compatible completions server (vLLM), or llama.cpp's")
    server.add_argument("url")
    server.add_argument("--model", default="", help="the server's name of the model; may be left out if it has one")
    server.add_argument("--style", choices=sorted(STYLES), default="prompt-logprobs")
    server.add_argument("--key-variable", default="", help="environment variable that holds the server's key")
    server.add_argument("--timeout", type=float, default=3600.0, help="seconds for one request")
    for each in (function, torch, server):
        each.add_argument("--name", help="as shown in tables")
        each.add_argument("--hash", help="identifies weights and code")
        for number in ("vocab-size", "max-tokens", "max-batch", "train-length"):
            each.add_argument("--" + number, type=int)
    return parser.parse_args(arguments)


def main(arguments=None):
    options = _arguments(arguments)
    take_stdout()
    hello = {key: value for key, value in vars(options).items() if value is not None and key in
             ("name", "hash", "vocab_size", "max_tokens", "max_batch", "train_length")}
    try:
        if options.kind == "server":
            key = os.environ.get(options.key_variable, "") if options.key_variable else ""
            serve_server(options.url, model=options.model, style=options.style, key=key, timeout=options.timeout,
                         **hello)
            return 0
        thing, path = load(options.place)
        if options.kind == "function":
            hello.setdefault("hash", file_hash(path))
            hello.setdefault("name", options.place.rpartition(":")[2])
            serve(thing, takes_rows=options.takes_rows, **hello)
        else:
            module = thing()
            hello.setdefault("hash", hashlib.sha256((file_hash(path) + module_hash(module)).encode()).hexdigest())
            serve_torch(module, device=options.device, **hello)
    except Refusal as refusal:
        print(f"adapter.py: error: {refusal}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
