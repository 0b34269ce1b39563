"""vLLM's own scheduler on rooflut's clock: any policy of vLLM, without a GPU.

`load` finds the sources of vLLM, `Server` serves requests with its scheduler. Errors are `VllmError`, or rooflut's
`RooflutError` for what rooflut cannot answer: both are a `ValueError` whose message says what was found, what was
expected and what to do.
"""

from .version import VERSIONS, Vllm, VllmError, load

__all__ = ["VERSIONS", "Server", "Vllm", "VllmError", "load"]


def __getattr__(name):
    # The engine is used without rooflut's package where its schedule is compared with that of the binary.
    if name != "Server":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .server import Server

    return Server
