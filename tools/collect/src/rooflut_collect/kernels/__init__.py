"""The kernels of the operations: operands, a reference, and the libraries that have them.

Each module has `operands(row, device)`, `small(row)` (the case of the self-check),
`reference(row, operands)` (in 32 bits) and `BACKENDS`, in order of preference. All-reduce, which
needs several processes, is in `ranks`.
"""

from . import decode, gemm, moe, prefill

OPERATIONS = {"gemm": gemm, "prefill": prefill, "decode": decode, "moe": moe}
