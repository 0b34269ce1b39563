"""Drafts that are accepted: those of rooflut's `Speculation`."""

from itertools import accumulate, repeat
from operator import mul

MASK = 2**64 - 1


def acceptance(tokens, acceptance, seed=0, **_):
    """Returns a function of a request's id and sampled tokens: how many of its next `tokens` drafts are accepted."""
    accepting = [int(share * 2**64) for share in accumulate(repeat(acceptance, tokens), mul)]

    def accepted(id, sampled):
        draw = mix(mix(seed, int(id)), sampled)
        return sum(draw < count for count in accepting)

    return accepted


def mix(state, word):
    """A word of Splitmix64."""
    bits = (state + (word + 1) * 0x9E3779B97F4A7C15) & MASK
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 & MASK
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EB & MASK
    return bits ^ bits >> 31
