"""Dictionaries that the package returns."""

from __future__ import annotations

from typing import List, Tuple, TypedDict, Union

from ._rooflut import Event


class PartTime(TypedDict):
    """A part of a step, over all layers.

    ``binding`` is the resource that limits it, ``provenance`` the source of its looked-up time, and ``fitted_share``
    the share of its time, from 0 to 1, that comes from constants fitted to servers.
    """

    part: str
    time_s: float
    binding: str
    fitted_share: float
    provenance: Union[str, None]


class StepTime(TypedDict):
    """The time of a step.

    ``bound_s`` is the time that the data sheet demands: FLOPs at the peak, bytes at the bandwidth of memory or link.
    Other fields are as in :class:`PartTime`, and ``provenance`` is the provenance of the least certain part.
    """

    total_ns: int
    total_s: float
    bound_s: float
    binding: str
    fitted_share: float
    provenance: Union[str, None]
    parts: List[PartTime]


class ServerStep(TypedDict):
    """A step of a server.

    ``late_decodes`` are the decoding requests that the step before left out, ``kv_tokens`` the KV tokens of the
    decoding requests, new ones included. ``overrun_requests``, ``drafted_tokens``, ``accepted_tokens`` and
    ``yielded_tokens`` count what speculative decoding did. ``running`` and ``waiting`` are requests with a sequence
    slot and in the queue. ``tokens`` has the number of each request that got output tokens, and how many.
    """

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
