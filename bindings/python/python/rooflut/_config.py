"""Models as Hugging Face describes them."""

from __future__ import annotations

import json
from typing import Any, Mapping, Union

from . import _rooflut
from ._rooflut import RooflutError

Text = Union[str, Mapping[str, Any]]


def read_config(
    config: Text,
    *,
    hf_quant_config: Text | None = None,
    generation_config: Text | None = None,
    assume_llama: bool = False,
) -> dict[str, Any]:
    """Reads a ``config.json``, given as text or as a dictionary, and the files beside it.

    Returns ``spec``, the dimensions of the model; ``kv_dtype``, the format of the KV cache if the files name one; and
    ``ignored``, the keys that ``assume_llama`` passes over. To serve the model, give the path of its file as
    ``model`` to :class:`Deployment` or :func:`simulate`.
    """
    quantization = None if hf_quant_config is None else _text(hf_quant_config)
    generation = None if generation_config is None else _text(generation_config)
    read: dict[str, Any] = json.loads(_rooflut.read_config(_text(config), quantization, generation, assume_llama))
    return read


def _text(config: Text) -> str:
    if isinstance(config, str):
        return config
    # Programs without types give anything.
    if isinstance(config, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        return json.dumps(dict(config))
    raise RooflutError(f"expected the text of a JSON file or a dictionary, found {type(config).__name__}")
