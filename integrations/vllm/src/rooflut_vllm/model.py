"""The layers of a model, as far as its steps and its KV cache depend on them."""

import json
import pathlib
import re
from dataclasses import dataclass, field

import rooflut

from .version import VllmError

#: Layers that read few tokens: the span in the catalogue and in a specification, and the kind in vLLM.
SPANS = [
    (r"a window of (\d+) tokens", "Window", "sliding_attention"),
    (r"chunks of (\d+) tokens", "Chunk", "chunked_attention"),
]


@dataclass
class Layers:
    """The attention of a model's layers."""

    #: The kind of each layer, as vLLM names it, and the tokens of the window or chunk of those with one.
    kinds: list[str] = field(default_factory=list)
    span: int = 0

    @property
    def window(self):
        """Tokens of the window; 0 without one."""
        return self.span if "sliding_attention" in self.kinds else 0

    @property
    def chunk(self):
        """Tokens of the chunks; 0 without any."""
        return self.span if "chunked_attention" in self.kinds else 0

    def outside(self, computed):
        """KV tokens that the token after so many does not read in layers with a window or chunks."""
        if self.chunk:
            return computed - computed % self.chunk
        return max(computed + 1 - self.window, 0) if self.window else 0


def layers_of(name, path):
    """The layers of a model of the catalogue, or read from the `config.json` at `path`."""
    found = [model for model in rooflut.models() if model["name"] == name]
    layers, sizes = Layers(), set()
    for count, kind, attention in of_catalogue(found[0]) if found else of_config(pathlib.Path(path)):
        if kind.replace("_", "").lower() == "deltanet":
            raise VllmError(f"model: layers of {name} keep a state; use rooflut.simulate()")
        if kind.lower() == "msa":
            raise VllmError(f"model: layers of {name} select blocks of keys; use rooflut.simulate()")
        if kind.lower() == "compressed":
            raise VllmError(
                f"model: layers of {name} compress the keys of several tokens into one; use rooflut.simulate()"
            )
        sizes.add((attention.get("kv_heads"), attention.get("head_dim")))
        tokens, kind = span_of(attention.get("span"))
        layers.span = max(layers.span, tokens)
        layers.kinds += [kind] * count
    if len(sizes) > 1:
        raise VllmError(f"model: the KV entries of {name} differ from layer to layer; use rooflut.simulate()")
    return layers


def of_catalogue(model):
    """Number, kind and attention of each group of layers of a model in the catalogue."""
    for group in model["groups"]:
        yield group["layers"], group["attention"]["kind"], group["attention"]


def of_config(path):
    """Number, kind and attention of each group of layers of a `config.json`."""
    for group in rooflut.read_config(json.loads(path.read_text(encoding="utf-8")))["spec"]["layers"]:
        ((kind, attention),) = group["attention"].items()
        yield group["layers"], kind, attention


def span_of(span):
    """Tokens and kind of layers with this span; 0 for those that read all tokens."""
    for pattern, name, kind in SPANS:
        if isinstance(span, dict) and name in span:
            return span[name], kind
        if isinstance(span, str) and (match := re.fullmatch(pattern, span)):
            return int(match[1]), kind
    return 0, "full_attention"
