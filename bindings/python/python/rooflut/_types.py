"""Dictionaries that the package returns."""

from __future__ import annotations

from typing import List, Tuple, TypedDict, Union

from ._rooflut import Event


class PartTime(TypedDict):
    """A part of a step, over all layers."""

    part: str
    time_s: float
    binding: str
    fitted_share: float
    provenance: Union[str, None]


class StepTime(TypedDict):
    """The time of a step."""

    total_ns: int
    total_s: float
    bound_s: float
    binding: str
    fitted_share: float
    provenance: Union[str, None]
    parts: List[PartTime]


class ServerStep(TypedDict):
    """A step of a server."""

    replica: int
    start_ns: int
    duration_ns: int
    prefill_chunks: int
    prefill_tokens: int
    decode_requests: int
    late_decodes: int
    kv_tokens: int
    overrun_requests: int
    drafted_tokens: int
    accepted_tokens: int
    yielded_tokens: int
    running: int
    waiting: int
    kv_blocks_used: int
    preempted: int
    tokens: List[Tuple[int, int]]
    preempted_requests: List[int]
    events: List[Event]
