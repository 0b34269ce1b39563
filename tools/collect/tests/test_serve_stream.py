"""Streams of events as servers send them, without a server."""

import asyncio
import json

import pytest

pytest.importorskip("aiohttp", reason="aiohttp is not installed: serve is not tested")

from rooflut_collect.serve.client import Answer, _message, _take  # noqa: E402

USAGE = {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}


class Content:
    """A body that comes in these pieces."""

    def __init__(self, pieces):
        self._pieces = pieces

    async def iter_any(self):
        for piece in self._pieces:
            yield piece


def take(*pieces):
    answer = Answer(5, 0.0)
    asyncio.run(_take(Content(pieces), answer))
    return answer


def event(end=b"\n\n", **values):
    return b"data: " + json.dumps(values).encode() + end


def text(word, reason=None):
    return event(choices=[{"index": 0, "text": word, "finish_reason": reason}], usage=None)


def delta(reason=None, **values):
    return event(choices=[{"index": 0, "delta": values, "finish_reason": reason}])


DONE = b"data: [DONE]\n\n"


def test_a_token_comes_with_each_event():
    # The second token is a part of a character: its text is empty.
    answer = take(text("a"), text(""), text("b", "length"), event(choices=[], usage=USAGE), DONE)
    assert (answer.prompt_tokens, answer.output_tokens, len(answer.times_s)) == (5, 3, 3)
    assert len(answer.gaps_s) == 2 and answer.e2e_s >= answer.ttft_s > 0.0


def test_events_may_be_cut_or_come_together():
    whole = (
        text("a")
        + text("b")
        + b": a comment\r\n\r\n"
        + text("c")
        + event(b"\r\n\r\n", choices=[], usage=USAGE)
    )
    assert len(take(whole + DONE).times_s) == 3
    assert len(take(*(whole[at : at + 7] for at in range(0, len(whole), 7))).times_s) == 3


def test_the_role_of_a_chat_is_no_token():
    tokens = (delta(content="a"), delta(reasoning_content="b"), delta("length", content="c"))
    answer = take(delta(role="assistant", content=""), *tokens, event(choices=[], usage=USAGE))
    assert len(answer.times_s) == 3


def test_a_reason_in_an_event_of_its_own_is_no_token():
    tokens = (delta(role="assistant", content="a"), delta(content="b"), delta(content="c"))
    answer = take(*tokens, delta("length", content=None), event(choices=[], usage=USAGE))
    assert len(answer.times_s) == 3


def test_usage_may_come_with_every_event():
    usages = [{**USAGE, "completion_tokens": count} for count in (1, 2, 3)]
    assert take(*(event(choices=[{"text": "a"}], usage=usage) for usage in usages)).output_tokens == 3


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        ([text("a"), DONE], "without the usage"),
        ([text("a"), event(error={"message": "out of memory", "code": 500})], "had an error: out of memory"),
        ([event(choices=[], usage={**USAGE, "completion_tokens": 0})], "no token"),
        ([event(choices=[], usage=USAGE)], "no token"),
        ([b"data: {cut off\n"], "property name"),
    ],
)
def test_what_is_no_whole_answer_is_an_error(pieces, message):
    with pytest.raises(ValueError, match=message):
        take(*pieces)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"error": {"message": "too long", "code": 400}}', "too long"),
        ('{"object": "error", "message": "too long", "code": 400}', "too long"),
        ('{"error": "too long"}', "too long"),
        ("too long", "too long"),
        ('"too long"', '"too long"'),
    ],
)
def test_an_error_is_its_message(text, message):
    assert _message(text) == message
