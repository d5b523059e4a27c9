"""Schemes: ways to encrypt, each with the backend that computes on it. A new one is one file."""

from __future__ import annotations

from typing import Any

from cloakwork._native import BgvParameters, Parameters
from cloakwork.base.record import Fields
from cloakwork.errors import InsecureParametersError, InvalidArgumentError, MalformedBytesError
from cloakwork.schemes.base import ReadLimits
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


def read_scheme(fields: Fields, limits: ReadLimits) -> Any:
    """The scheme of a record.

    Args:
        fields: The record.
        limits: What is accepted.

    Raises:
        MalformedBytesError: The record is of none.
        InvalidParametersError: Its ring is larger than accepted.
        InsecureParametersError: Its parameters fall short of 128-bit security, or it hides nothing.
    """
    try:
        scheme = _scheme(fields, limits)
    except InsecureParametersError as error:
        raise _insecure(fields, "its parameters fall short of 128-bit security") from error
    if not scheme.encrypts and not limits.insecure:
        raise _insecure(fields, "it hides nothing")
    return scheme


def _insecure(fields: Fields, lack: str) -> InsecureParametersError:
    return InsecureParametersError(
        f"cannot read {fields.place}: {lack}; for tests, read it with insecure=True"
    )


def _scheme(fields: Fields, limits: ReadLimits) -> Any:
    accepted: Any = {"insecure": limits.insecure, "max_log_n": limits.max_log_n}
    name = fields.choice("scheme", _NAMES)
    match name:
        case ClearBits.name:
            scheme: Any = ClearBits()
        case Tfhe.name:
            scheme = _tfhe(fields)
        case Ckks.name | ClearReal.name:
            parameters = Parameters.from_bytes(fields.data("parameters"), **accepted)
            scheme = Ckks(parameters) if name == Ckks.name else ClearReal(parameters)
        case _:
            data = fields.items("parameters", most=_MAX_PRIMES)
            if not data or not all(isinstance(each, bytes) for each in data):
                raise fields.wrong("parameters", "bytes for every prime")
            sets = [BgvParameters.from_bytes(each, **accepted) for each in data]
            if name == Bgv.name:
                scheme = Bgv(sets, public_inputs=fields.value("public_inputs", bool))
            else:
                scheme = ClearInteger(sets)
    return scheme


def _tfhe(fields: Fields) -> Tfhe:
    bits = fields.integer("failure_bits", least=1, most=MAX_FAILURE_BITS)
    try:
        return Tfhe(fields.word("parameters"), bits)
    except InvalidArgumentError as error:
        raise MalformedBytesError(f"cannot read {fields.place}: {error}") from error
