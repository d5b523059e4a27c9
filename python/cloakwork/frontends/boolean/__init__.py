"""Circuits over bits: functions in Haskell, designs in Verilog, circuits that others have written.

They run in the clear on the bits themselves and, compiled, on TFHE's ciphertexts of bits.
"""

from cloakwork.frontends.boolean.circuit import (
    Circuit,
    chain,
    from_blif,
    from_bristol,
    from_haskell,
    from_verilog,
    from_yosys_json,
    to_bristol,
    to_old_bristol,
)
from cloakwork.frontends.boolean.decisions import above, argmax, one_hot, sort, table, top

__all__ = [
    "Circuit",
    "above",
    "argmax",
    "chain",
    "from_blif",
    "from_bristol",
    "from_haskell",
    "from_verilog",
    "from_yosys_json",
    "one_hot",
    "sort",
    "table",
    "to_bristol",
    "to_old_bristol",
    "top",
]
