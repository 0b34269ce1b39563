"""A server as an asynchronous iterator."""

from __future__ import annotations

import asyncio
from typing import AsyncIterator

from ._rooflut import Event, Server


async def events(server: Server) -> AsyncIterator[Event]:
    """Drives a server from event to event until it is idle, and yields what happens."""
    while True:
        for event in server.drain_events():
            yield event
        await asyncio.sleep(0)
        at_ns = server.next_event_ns
        if at_ns is None:
            return
        server.advance_to(at_ns)
