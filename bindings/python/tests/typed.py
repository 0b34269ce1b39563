"""A program whose types mypy and pyright check; it is not run."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

import rooflut
from rooflut import distributed

report: rooflut.Report = rooflut.simulate("scenario.toml", rate=5, trace={"prompt_tokens": np.ones(3, dtype=np.int64)})
text: str = report.json()
ttft: NDArray[np.float64] = report.requests["ttft_ms"]
deployment = rooflut.Deployment(model="llama-3.1-8b", tp=2)
times_ns: NDArray[np.uint64] = deployment.step_times_ns(decode_requests=64, decode_kv_tokens=[64_000, 65_000])
total_s: float = deployment.step(prefill=[512, (512, 1_536)], decode=[(64, 1_000)])["total_s"]
times_s: NDArray[np.float64] = rooflut.Tables("h100").kernel("gemm", dtype="bf16", k=64, n=64).times(m=range(1, 9))
plan = rooflut.plan(rate=30, goodput=["ttft:500", "tpot:20"], tp=[1, 2], confidence=None)

rows: rooflut.Sweep = rooflut.sweep(gpu=["h100", "h200"], tp=range(1, 3), rate="4..20:4", out="sweep.csv")
rates: NDArray[np.float64] = rows["rate"]


def show(progress: distributed.Progress) -> None:
    print(progress.left_s)


with ThreadPoolExecutor() as engine:
    rows = distributed.sweep(engine=engine, workers=2, rate=[1, 2], progress=show)
written: distributed.Written = distributed.sweep(engine="ray", out="sweep.parquet", threads=4, resume=True, rate="1..9")


async def drive(server: rooflut.Server) -> list[int]:
    return [event.at_ns async for event in server]


asyncio.run(drive(deployment.server()))
