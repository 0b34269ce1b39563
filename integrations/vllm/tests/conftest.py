"""The version of vLLM that is tested: VLLM_VERSION."""

import os
import signal

import pytest

import rooflut_vllm

# A background job of a shell ignores Ctrl-C, and so would its children.
signal.signal(signal.SIGINT, signal.default_int_handler)
VERSION = os.environ.get("VLLM_VERSION", rooflut_vllm.VERSIONS[-1])


@pytest.fixture(scope="session")
def vllm():
    """The classes of vLLM."""
    return rooflut_vllm.load(VERSION)


@pytest.fixture
def serve(vllm):
    """Serves requests with vLLM's scheduler and with rooflut's simulator; returns both reports."""
    import rooflut

    def both(requests, **keys):
        keys = dict(model="llama-3.1-8b", gpu="h100", engine=f"vllm-{vllm.version}") | keys
        expected = rooflut.simulate(trace=requests, keep_requests=True, keep_steps=True, **keys)
        return rooflut_vllm.Server(**keys).serve(requests), expected

    return both
