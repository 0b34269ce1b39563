import rooflut
import rooflut_vllm

vllm = rooflut_vllm.load("0.15.1")


class ShortestFirst(vllm.AsyncScheduler):
    def schedule(self, *arguments):
        waiting = sorted(self.waiting, key=lambda request: request.num_prompt_tokens)
        self.waiting.clear()
        self.waiting.extend(waiting)
        return super().schedule(*arguments)


server = dict(model="llama-3.1-8b", gpu="h100", max_num_seqs=64)
load = rooflut.simulate(rate=12, requests=500, prompt="uniform:50..4000", keep_requests=True, **server).requests
requests = {name: load[name] for name in ("arrival_ns", "prompt_tokens", "output_tokens")}
for policy in (vllm.AsyncScheduler, ShortestFirst):
    report = rooflut_vllm.Server(scheduler_cls=policy, **server).serve(requests)
    print(policy.__name__, {name: round(report["ttft_ms"][name]) for name in ("mean", "p50", "p99")})
