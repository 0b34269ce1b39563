"""Servers that Python drives."""

import asyncio
import copy
import pickle
import threading

import numpy as np
import pytest

import rooflut


@pytest.fixture(scope="module")
def deployment():
    return rooflut.Deployment(model="llama-3.1-8b", max_num_seqs=32)


def events_of(server):
    events = []
    while (at_ns := server.next_event_ns) is not None:
        server.advance_to(at_ns)
        events += server.drain_events()
    return [(event.kind, event.request, event.at_ns) for event in events]


def load(count=60):
    draw = np.random.default_rng(3)
    return {
        "arrival_ns": np.sort(draw.integers(0, 2_000_000_000, count)),
        "prompt_tokens": draw.integers(1, 2_000, count),
        "output_tokens": draw.integers(1, 100, count),
    }


@pytest.mark.parametrize("policy", ["fcfs", "shortest-prompt", "priority"])
def test_a_server_serves_as_the_simulation_does(policy):
    frame = {**load(), "priority": np.arange(60) % 3}
    keys = {"max_num_seqs": 4, "policy": policy}
    trace = {"arrival_ms": frame["arrival_ns"] / 1e6, **{name: frame[name] for name in list(frame)[1:]}}
    report = rooflut.simulate(**keys, trace=trace, keep_requests=True)
    server = rooflut.Deployment(**keys).server()
    assert server.push_all(frame) == 0
    server.run_until_idle()
    finished = {event.request: event for event in server.drain_events() if event.kind == "finished"}
    assert [finished[request].at_ns for request in range(60)] == report.requests["finish_ns"].tolist()
    assert [finished[request].ttft_s * 1e3 for request in range(60)] == report.requests["ttft_ms"].tolist()
    assert {event.outcome for event in finished.values()} == {"completed"}


def test_all_ways_of_driving_give_the_same_times(deployment):
    servers = [deployment.server() for _ in range(4)]
    for server in servers:
        for row in zip(*load().values()):
            arrival_ns, prompt_tokens, output_tokens = map(int, row)
            server.push(prompt_tokens, output_tokens, arrival_ns=arrival_ns)
    by_event, by_step, at_once, awaited = servers
    expected = events_of(by_event)
    assert len(expected) == 120
    steps = []
    while (step := by_step.step()) is not None:
        steps += [(event.kind, event.request, event.at_ns) for event in step["events"]]
        assert sum(tokens for _, tokens in step["tokens"]) <= 32 and step["duration_ns"] > 0
    at_once.advance_to(10**13)
    sliced = [(event.kind, event.request, event.at_ns) for event in at_once.drain_events()]
    assert steps == sliced == expected
    assert at_once.now_ns == 10**13 and at_once.is_idle and at_once.kv_blocks_used == 0

    async def drive():
        return [(event.kind, event.request, event.at_ns) async for event in awaited]

    assert asyncio.run(drive()) == expected


def test_tasks_push_requests_while_another_iterates(deployment):
    server = deployment.server()

    async def push_later():
        for _ in range(5):
            await asyncio.sleep(0)
            server.push(100, 10)

    async def drive():
        server.push(100, 50)
        pushing = asyncio.create_task(push_later())
        finished = [event.request async for event in server if event.kind == "finished"]
        await pushing
        return finished

    assert sorted(asyncio.run(drive())) == list(range(6))


def test_a_server_says_what_it_holds(deployment):
    server = deployment.server()
    assert (server.next_event_ns, server.step(), server.is_idle) == (None, None, True)
    server.push(1_000, 20)
    server.push(1_000, 20, arrival_ns=10**12)
    assert (server.arriving, server.waiting, server.running, server.outstanding_tokens) == (2, 0, 0, 2_040)
    server.step()
    assert server.running == 1 and 0 < server.kv_blocks_used <= server.kv_blocks
    assert "1 running" in repr(server)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda server: server.push(0, 1), "request cannot be served: .*prompt"),
        (lambda server: server.push(10**6, 1), "request cannot be served"),
        (lambda server: server.push(1, 1, arrival_ns=5), "arrival_ns: expected at least 1000"),
        (lambda server: server.advance_to(5), "to_ns: expected at least 1000 "),
        (lambda server: server.push_all({"prompt_tokens": [1], "output_tokens": [1, 2]}), "output_tokens: expected 1 values"),
        (lambda server: server.push_all({"prompt_tokens": [1]}), "output_tokens: missing"),
        (lambda server: server.push_all({"prompt_tokens": [1], "length": [1]}), "unknown column \"length\""),
        (lambda server: server.push_all({"arrival_ns": [1e6], "prompt_tokens": 1, "output_tokens": 1}), "arrival_ns: "),
        (lambda server: server.push_all([1, 2]), "expected a dictionary of arrays or a frame"),
        (
            lambda server: server.push_all({"arrival_ns": 2_000, "prompt_tokens": [1, 0], "output_tokens": 1}),
            "row 1: request cannot be served",
        ),
    ],
)
def test_wrong_requests_are_errors_with_their_cause(deployment, call, message):
    server = deployment.server()
    server.advance_to(1_000)
    with pytest.raises(rooflut.RooflutError, match=message):
        call(server)


@pytest.mark.parametrize("number", ["a", -1, 2**32, 1.5, None])
def test_wrong_numbers_are_errors_with_their_cause(deployment, number):
    server = deployment.server()
    with pytest.raises(rooflut.RooflutError, match=f"prompt_tokens: .* from 0 to 4294967295, found {number!r}"):
        server.push(number, 1)
    with pytest.raises(rooflut.RooflutError, match="priority: .* found -2"):
        server.push(1, 1, priority=-2)
    with pytest.raises(rooflut.RooflutError, match="to_ns: .* to 18446744073709551615, found -1"):
        server.advance_to(-1)


def test_urgent_requests_go_first_where_the_policy_is_priority():
    def order(policy):
        # Prompts take no time to tokenize under this engine: all three arrive at once.
        server = rooflut.Deployment(policy=policy, max_num_seqs=1, engine="vllm-0.15.1").server()
        for priority in (2, 1, 0):
            server.push(100, 10, priority=priority)
        server.run_until_idle()
        return [event.request for event in server.drain_events() if event.kind == "finished"]

    assert (order("fcfs"), order("priority")) == ([0, 1, 2], [2, 1, 0])


def test_two_threads_cannot_use_one_server_at_once(deployment):
    server = deployment.server()
    count = 200_000
    server.push_all({"prompt_tokens": np.full(count, 100), "output_tokens": 20})
    refused, written, began = [], set(), threading.Event()

    def drive():
        began.set()
        server.run_until_idle()

    def ask():
        began.wait()
        while driver.is_alive():
            written.add(repr(server))
            try:
                server.running
            except rooflut.RooflutError as error:
                refused.append(str(error))

    driver, asker = threading.Thread(target=drive), threading.Thread(target=ask)
    driver.start()
    asker.start()
    driver.join()
    asker.join()
    assert "<rooflut.Server in use>" in written
    assert refused and all("in use by another thread" in message for message in refused)
    assert sum(event.kind == "finished" for event in server.drain_events()) == count


def test_ranks_of_a_data_parallel_deployment_have_no_server_of_their_own():
    deployment = rooflut.Deployment(model="deepseek-v3", gpu="h200", dp=8, tp=1, expert_parallel=True)
    with pytest.raises(rooflut.RooflutError, match="dp: expected a single rank, found 8.*use simulate"):
        deployment.server()


def test_a_copy_goes_on_by_itself(deployment):
    server = deployment.server()
    server.push_all(load())
    server.advance_to(500_000_000)
    server.drain_events()
    copies = [server.copy(), copy.copy(server), copy.deepcopy(server)]
    copies[0].push(2_000, 100)
    # A copy that goes on changes neither the others nor the server.
    first, *others = [events_of(one) for one in copies]
    assert others[0] == others[1] == events_of(server) != first


def test_prompts_with_the_same_blocks_share_them(deployment):
    def hits(**second):
        server = deployment.server()
        server.push(320, 1, block_ids=[7, 8, 9], block_tokens=100)
        server.run_until_idle()
        server.push(320, 1, **second)
        server.run_until_idle()
        return server.totals()["cache_hits"]

    # Whole KV blocks of 16 tokens.
    assert hits(block_ids=np.array([7, 8, 9]), block_tokens=100) == 300 // 16
    assert hits(block_ids=[7, 8, 1], block_tokens=100) == 200 // 16
    assert hits(block_ids=7, block_tokens=100) == 100 // 16
    assert hits() == 0
    for wrong, message in [
        ({"block_ids": [1]}, "give block_tokens"),
        ({"block_tokens": 16}, "give the ids of the prompt's blocks"),
        ({"block_ids": [-1], "block_tokens": 16}, "block_ids"),
        ({"block_ids": [1], "block_tokens": 0}, "block_tokens"),
    ]:
        with pytest.raises(rooflut.RooflutError, match=message):
            deployment.server().push(320, 1, **wrong)


def test_a_router_of_ones_own_over_prefill_and_decode_servers_gives_the_times_of_the_fleet():
    """One server after the other, in both stages; a link of 10 GB/s and 50 us."""
    bandwidth, latency_us, count = 10, 50, 60
    kv_bytes = 131_072
    keys = {"model": "llama-3.1-8b", "max_num_seqs": 8}
    trace = {"arrival_ms": load()["arrival_ns"] / 1e6, **{name: load()[name] for name in ["prompt_tokens", "output_tokens"]}}
    fleet = {"prefill_replicas": 2, "decode_replicas": 2, "link_bandwidth": bandwidth, "link_latency": latency_us}
    report = rooflut.simulate(**keys, **fleet, trace=trace, keep_requests=True)
    deployment = rooflut.Deployment(**keys)
    stages = [[deployment.server(role=role) for _ in range(2)] for role in ["prefill", "decode"]]
    free_ns, deliveries, finish_ns = [0, 0], [], {}
    for place, server in enumerate(stages[0]):
        rows = range(place, count, 2)
        for row in rows:
            server.push(int(load()["prompt_tokens"][row]), 1, arrival_ns=int(load()["arrival_ns"][row]))
        server.run_until_idle()
        for event in server.drain_events():
            if event.kind == "finished":
                row = rows[event.request]
                occupied_ns = round(int(load()["prompt_tokens"][row]) * kv_bytes / bandwidth)
                free_ns[place] = max(event.at_ns, free_ns[place]) + occupied_ns
                deliveries.append((free_ns[place] + 1_000 * latency_us, row))
    for place, server in enumerate(stages[1]):
        rows = [row for _, row in sorted(deliveries)[place::2]]
        for at_ns, row in sorted(deliveries)[place::2]:
            lengths = [int(load()[name][row]) for name in ["prompt_tokens", "output_tokens"]]
            server.push(*lengths, arrival_ns=at_ns)
        server.run_until_idle()
        for event in server.drain_events():
            if event.kind == "finished":
                finish_ns[rows[event.request]] = event.at_ns
    assert [finish_ns[row] for row in range(count)] == report.requests["finish_ns"].tolist()
    with pytest.raises(rooflut.RooflutError, match='role: expected one of whole, prefill, decode, found "both"'):
        deployment.server(role="both")


def test_the_faster_of_two_servers_answers_a_hedged_request_and_the_other_cancels_it(deployment):
    servers = [deployment.server() for _ in range(2)]
    busy, idle = servers
    busy.push(8_000, 100)
    numbers = [server.push(512, 20) for server in servers]
    first = None
    while first is None:
        at_ns = min(server.next_event_ns for server in servers)
        for server, number in zip(servers, numbers):
            server.advance_to(at_ns)
            if any(event.request == number for event in server.drain_events()):
                first = first or server
    assert first is idle
    busy.cancel(numbers[0])
    for server in servers:
        server.run_until_idle()
    ends = [{event.request: event.outcome for event in server.drain_events() if event.outcome} for server in servers]
    assert ends == [{0: "completed", 1: "cancelled"}, {0: "completed"}]
    assert busy.kv_blocks_used == 0 and busy.totals()["rejected"] == 1


@pytest.mark.parametrize("request_number", [1, 7, 2**64 - 1])
def test_a_request_that_is_unknown_or_over_is_not_cancelled(deployment, request_number):
    server = deployment.server()
    for _ in range(2):
        server.push(100, 2)
    server.cancel(1)
    with pytest.raises(rooflut.RooflutError, match=f"request {request_number}: expected one that was pushed"):
        server.cancel(request_number)
    with pytest.raises(rooflut.RooflutError, match="request: expected"):
        server.cancel(-1)
    server.run_until_idle()
    with pytest.raises(rooflut.RooflutError, match="request 0: expected one"):
        server.cancel(0)


def test_events_are_pickled(deployment):
    server = deployment.server()
    server.push(512, 3)
    server.run_until_idle()
    names = ["kind", "request", "at_ns", "outcome", "queue_s", "ttft_s", "tpot_s", "e2e_s", "preemptions"]
    events = server.drain_events()
    fields = [[getattr(event, name) for name in names] for event in events]
    again = pickle.loads(pickle.dumps(events))
    assert len(events) == 2 and [[getattr(event, name) for name in names] for event in again] == fields
