"""A run is at least five times as fast as the server would be."""

import time

import rooflut_vllm


def test_64_running_requests_are_served_at_five_times_real_time(vllm):
    server = rooflut_vllm.Server(model="llama-3.1-8b", gpu="h100", max_num_seqs=64)
    requests = dict(prompt_tokens=[512] * 320, output_tokens=[256] * 320)
    ratios = []
    for _ in range(10):
        # Processor time, as other programs of a busy machine take the rest.
        wall, cpu = time.perf_counter(), time.process_time()
        report = server.serve(requests)
        ratios.append(
            (report["makespan_s"] / (time.process_time() - cpu), report["makespan_s"] / (time.perf_counter() - wall))
        )
        # Programs beside it slow a run down, by the time of the processor, too.
        if len(ratios) >= 3 and max(ratios)[0] >= 5:
            break
    cpu, wall = (max(of) for of in zip(*ratios))
    step_us = 1e6 * report["makespan_s"] / cpu / report["steps"]
    print(f"vLLM {vllm.version}: {cpu:.1f} times real time, {step_us:.0f} us a step; {wall:.1f} by the clock")
    assert report["running_mean"] > 60
    assert cpu >= 5
