"""The layers of a model, as far as the step times of rooflut's Python package depend on them."""

import json
import pathlib

import rooflut

#: Names of rooflut's spans.
SPANS = {"Full": "full attention", "Window": "a window of {} tokens", "Chunk": "chunks of {} tokens"}


def unsupported(name, path):
    """Why the steps of a model, of the catalogue or read from `path`, have no time each; `None` if they have."""
    found = [model for model in rooflut.models() if model["name"] == name]
    layers = of_catalogue(found[0]) if found else of_config(pathlib.Path(path))
    for kind, span in layers:
        if kind.replace("_", "").lower() == "deltanet":
            return "keep a state"
        if span != SPANS["Full"]:
            return f"have {span}"
    return None


def of_catalogue(model):
    """Kind and span of the attention of the layers of a model in the catalogue."""
    for group in model["groups"]:
        yield group["attention"]["kind"], group["attention"].get("span", SPANS["Full"])


def of_config(path):
    """Kind and span of the attention of the layers of a `config.json`."""
    for group in rooflut.read_config(json.loads(path.read_text(encoding="utf-8")))["spec"]["layers"]:
        ((kind, attention),) = group["attention"].items()
        span = attention.get("span", "Full")
        name, tokens = next(iter(span.items())) if isinstance(span, dict) else (span, None)
        yield kind, SPANS[name].format(tokens)
