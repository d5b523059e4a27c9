"""Schemes: ways to encrypt, each with the backend that computes on it. A new one is one file."""

from __future__ import annotations

from typing import Any

from cloakwork._native import BgvParameters, Parameters
from cloakwork.base.record import Fields
from cloakwork.errors import InsecureParametersError, InvalidArgumentError, MalformedBytesError
from cloakwork.schemes.bgv import Bgv
from cloakwork.schemes.ckks import Ckks
from cloakwork.schemes.clear_bits import ClearBits
from cloakwork.schemes.clear_integer import ClearInteger
from cloakwork.schemes.clear_real import ClearReal
from cloakwork.schemes.tfhe import MAX_FAILURE_BITS, Tfhe

_NAMES = (
    Ckks.name,
    Bgv.name,
    Tfhe.name,
    ClearReal.name,
    ClearInteger.name,
    ClearBits.name,
)
# Primes of one program over integers.
_MAX_PRIMES = 64


def read_scheme(fields: Fields, *, insecure: bool) -> Any:
    """The scheme of a record.

    Args:
        fields: The record.
        insecure: Whether parameters below 128-bit security are allowed.

    Raises:
        MalformedBytesError: The record is of none.
        InsecureParametersError: Its parameters fall short of 128-bit security, or it hides nothing.
    """
    name = fields.choice("scheme", _NAMES)
    match name:
        case ClearBits.name:
            scheme: Any = ClearBits()
        case Tfhe.name:
            scheme = _tfhe(fields)
        case Ckks.name | ClearReal.name:
            parameters = Parameters.from_bytes(fields.data("parameters"), insecure=insecure)
            scheme = Ckks(parameters) if name == Ckks.name else ClearReal(parameters)
        case _:
            data = fields.items("parameters", most=_MAX_PRIMES)
            if not data or not all(isinstance(each, bytes) for each in data):
                raise fields.wrong("parameters", "bytes for every prime")
            sets = [BgvParameters.from_bytes(each, insecure=insecure) for each in data]
            if name == Bgv.name:
                scheme = Bgv(sets, public_inputs=fields.truth("public_inputs"))
            else:
                scheme = ClearInteger(sets)
    if scheme.insecure and not insecure:
        lack = (
            "its parameters fall short of 128-bit security" if scheme.hidden else "it hides nothing"
        )
        raise InsecureParametersError(
            f"cannot read {fields.place}: {lack}; where that is wanted, for tests, read it with "
            "insecure=True"
        )
    return scheme


def _tfhe(fields: Fields) -> Tfhe:
    bits = fields.integer("failure_bits", least=1, most=MAX_FAILURE_BITS)
    try:
        return Tfhe(fields.word("parameters"), bits)
    except InvalidArgumentError as error:
        raise MalformedBytesError(f"cannot read {fields.place}: {error}") from error
