"""The program of ``bindings/agreement``: python agreement.py SCENARIOS"""

import struct
import sys
import tomllib

import rooflut

MASK = 2**64 - 1


class Random:
    """Splitmix64."""

    def __init__(self, seed):
        self.state = seed

    def draw(self, modulus):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        bits = self.state
        bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & MASK
        return (bits ^ (bits >> 31)) % modulus


def batch_of(index):
    random = Random(index)
    prefill, decode = [], []
    for _ in range(random.draw(4)):
        new = 1 + random.draw(2_048)
        kv_len = new + random.draw(8_192)
        prefill.append((new, kv_len, bool(random.draw(2))))
    for _ in range(random.draw(4)):
        requests, drafted = 1 + random.draw(64), random.draw(3)
        decode.append((requests, 1 + random.draw(8_192) + drafted, drafted))
    return prefill, decode


def times_of(deployment, batches):
    """Returns the times of all steps from one call."""
    chunks = [chunk for prefill, _ in batches for chunk in prefill]
    groups = [group for _, decode in batches for group in decode]
    offsets = [[0], [0]]
    for batch in batches:
        for place, rows in enumerate(batch):
            offsets[place].append(offsets[place][-1] + len(rows))
    return deployment.step_times_ns(
        prefill_tokens=[new for new, _, _ in chunks],
        prefill_kv_len=[kv_len for _, kv_len, _ in chunks],
        prefill_last=[int(last) for _, _, last in chunks],
        prefill_offsets=offsets[0],
        decode_requests=[requests for requests, _, _ in groups],
        decode_kv_tokens=[requests * kv_len for requests, kv_len, _ in groups],
        decode_drafted=[drafted for _, _, drafted in groups],
        decode_offsets=offsets[1],
    )


def bits(number):
    return struct.pack(">d", number).hex()


def write_steps(deployments):
    indices = range(10_000)
    times = {}
    for first, deployment in enumerate(deployments):
        own = indices[first :: len(deployments)]
        times.update(zip(own, times_of(deployment, [batch_of(index) for index in own])))
    for index in indices:
        prefill, decode = batch_of(index)
        step = deployments[index % len(deployments)].step(prefill=prefill, decode=decode)
        assert step["total_ns"] == times[index]
        print("step", index, bits(step["total_s"]), times[index])
        for part in step["parts"] if index % 10 == 0 else []:
            provenance = part["provenance"].split(",") if part["provenance"] else []
            print(
                "part",
                rooflut.PARTS.index(part["part"]),
                bits(part["time_s"]),
                rooflut.BINDINGS.index(part["binding"]),
                rooflut.CLASSES.index(provenance[0]) if provenance else len(rooflut.CLASSES),
                int("outside" in provenance),
            )


def drive(server):
    for index in range(100):
        random = Random(index)
        arrival_ns = random.draw(2_000_000_000)
        prompt, output = 1 + random.draw(1_000), 1 + random.draw(100)
        server.push(prompt, output, arrival_ns=arrival_ns)
    while (at_ns := server.next_event_ns) is not None:
        server.advance_to(at_ns)
        for event in server.drain_events():
            print("event", event.request, event.kind, event.outcome or "none", event.at_ns)
            if event.outcome is None and event.request % 5 == 0:
                print("cancel", int(cancels(server, event.request)))
    totals = server.totals()
    print("totals", totals["steps"], totals["busy_ns"], totals["output_tokens"])


def cancels(server, request):
    try:
        server.cancel(request)
    except rooflut.RooflutError:
        return False
    return True


def deployment_of(scenario):
    server = {key: value for key, value in scenario.get("server", {}).items() if key not in ("replicas", "router")}
    target = {key: value for key, value in scenario.items() if not isinstance(value, dict)}
    return rooflut.Deployment(**target, **server)


def main():
    with open(sys.argv[1]) as file:
        scenarios = [tomllib.loads(text) for text in file.read().split("---\n")]
    deployments = [deployment_of(scenario) for scenario in scenarios]
    write_steps(deployments)
    for deployment in deployments:
        drive(deployment.server())
    for index, scenario in enumerate(scenarios):
        for seed in range(20):
            print("run", index, seed)
            print(rooflut.simulate(scenario, seed=seed).json(), end="")


main()
