"""Tokens of requests: equal where rooflut's `Content` says that requests share them."""

import hashlib


def number(*of):
    """A number for a text."""
    return int.from_bytes(hashlib.blake2b(repr(of).encode(), digest_size=6).digest(), "big")


def text_of(index, row):
    """Token `i` of request `index`: its prefix, and its session's text or its own."""
    prefix, cut = str(row.get("prefix_id", "")), int(row.get("prefix_tokens") or 0)
    session = str(row.get("session_id", ""))
    head = number("prefix", prefix)
    own = number("own", prefix if cut else "", cut, ("s", session) if session else ("r", index))

    def text(i):
        return (head if i < cut else own) * 65_536 + i

    return text


def at_engine(arrivals_ns, prompt_tokens, api_server_ns, api_token_ns):
    """When the engine sees each request, in nanoseconds: the API server tokenizes one prompt after another."""
    times, tokenized_ns = [0] * len(arrivals_ns), 0
    for index in sorted(range(len(arrivals_ns)), key=arrivals_ns.__getitem__):
        tokenized_ns = max(tokenized_ns, arrivals_ns[index]) + prompt_tokens[index] * api_token_ns
        times[index] = tokenized_ns + api_server_ns
    return times
