"""The models that a plan can name: a copy of rooflut's catalogue.

`data/models.json` is what `rooflut models --json` prints; the project's checks compare the two.
"""

import difflib
import json
from dataclasses import dataclass
from functools import cache
from importlib import resources

from .errors import UserError, comma


@dataclass(frozen=True)
class Model:
    """Dimensions of a transformer."""

    name: str
    hidden: int
    vocab: int
    max_model_len: int
    #: Groups of equal layers: `attention` with its heads, `ffn` of `kind` dense or moe with its sizes.
    groups: list[dict]

    def check(self, tp: int) -> None:
        """Refuses attention that is not collected, and a tensor parallelism over which the model does not divide."""
        if any(group["attention"]["kind"] != "gqa" for group in self.groups):
            raise UserError(f"{self.name}: only attention with key and value heads is collected; name another model")
        odd = self._undivided(tp)
        if odd:
            good = comma(n for n in (1, 2, 4, 8, 16) if not self._undivided(n))
            raise UserError(f"{self.name}@tp{tp}: its {odd} does not divide over {tp} GPUs; tp can be {good}")

    def _undivided(self, tp: int) -> str | None:
        """The first size that `tp` ranks cannot share. (Fewer KV heads than ranks are copied.)"""
        for group in self.groups:
            q_heads, kv_heads = (group["attention"][name] for name in ("q_heads", "kv_heads"))
            if q_heads % tp:
                return f"number of query heads, {q_heads},"
            if kv_heads % tp and tp % kv_heads:
                return f"number of KV heads, {kv_heads},"
            for size in ("intermediate", "shared_intermediate"):
                if group["ffn"].get(size, 0) % tp:
                    return f"{size} size, {group['ffn'][size]},"
        return None


@cache
def catalogue() -> dict[str, Model]:
    """All models by every name they have, in lower case."""
    text = resources.files(__package__).joinpath("data/models.json").read_text()
    fields = Model.__dataclass_fields__
    models = {}
    for entry in json.loads(text)["models"]:
        model = Model(**{name: entry[name] for name in fields})
        models.update({name.lower(): model for name in (entry["name"], *entry["aliases"])})
    return models


def find(name: str) -> Model:
    """The model of that name or Hugging Face id, in any case of letters."""
    models = catalogue()
    if name.lower() in models:
        return models[name.lower()]
    near = difflib.get_close_matches(name.lower(), models, n=3, cutoff=0.5)
    names = list(dict.fromkeys(models[match].name for match in near))
    hint = (
        f"did you mean {' or '.join(names)}?"
        if names
        else "expected one of " + comma(dict.fromkeys(model.name for model in models.values()))
    )
    raise UserError(f"unknown model {name!r}: {hint}")
