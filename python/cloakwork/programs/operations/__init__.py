"""The operations of slot programs, each described once; see `programs.operations.base`."""

from collections.abc import Mapping

from cloakwork.programs.operations.arithmetic import Add, Mul, Neg, Sub
from cloakwork.programs.operations.base import Context, Operation, State
from cloakwork.programs.operations.bootstrapping import (
    Bootstrap,
    BootstrapOfCoefficients,
    PairedBootstrap,
)
from cloakwork.programs.operations.complex import TimesI, TwiceReal
from cloakwork.programs.operations.edges import ClearInput, Constant, Input, Output
from cloakwork.programs.operations.levels import DropLevel, Rescale
from cloakwork.programs.operations.linear import Linear
from cloakwork.programs.operations.polynomials import Polynomial
from cloakwork.programs.operations.products import (
    AddProducts,
    DiagonalProducts,
    RotatedProducts,
    SwitchProduct,
)
from cloakwork.programs.operations.public import Fill
from cloakwork.programs.operations.rotations import Rotate, RotateSum
from cloakwork.programs.operations.weighted import TakeSum, WeightedSums

OPERATIONS: Mapping[str, type[Operation]] = {
    each.kind: each
    for each in (
        Input,
        Constant,
        Add,
        Sub,
        Mul,
        Neg,
        TimesI,
        TwiceReal,
        Fill,
        Rotate,
        RotateSum,
        Linear,
        Polynomial,
        RotatedProducts,
        DiagonalProducts,
        AddProducts,
        SwitchProduct,
        WeightedSums,
        TakeSum,
        Rescale,
        DropLevel,
        Bootstrap,
        PairedBootstrap,
        BootstrapOfCoefficients,
        Output,
    )
}

__all__ = [
    "OPERATIONS",
    "Add",
    "AddProducts",
    "Bootstrap",
    "BootstrapOfCoefficients",
    "ClearInput",
    "Constant",
    "Context",
    "DiagonalProducts",
    "DropLevel",
    "Fill",
    "Input",
    "Linear",
    "Mul",
    "Neg",
    "Operation",
    "Output",
    "PairedBootstrap",
    "Polynomial",
    "Rescale",
    "Rotate",
    "RotateSum",
    "RotatedProducts",
    "State",
    "Sub",
    "SwitchProduct",
    "TakeSum",
    "TimesI",
    "TwiceReal",
    "WeightedSums",
]
