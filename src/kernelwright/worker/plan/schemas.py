"""Operators of ATen as library steps, decided by their schemas and tags.

A library step only computes new tensors from tensors and numbers. It does not synchronise, draw random numbers, take a
size from data, write to what it reads, or return memory that it did not write.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._ops import OpOverload

from kernelwright.worker.plan.operators import DROPOUT

TAGS = {
    torch.Tag.nondeterministic_seeded: "draws random numbers",
    torch.Tag.dynamic_output_shape: "takes the size of its result from data",
    torch.Tag.data_dependent_output: "reads values of tensors on the host",
}
"""What no library step does, by torch's tags."""


_RECURRENT = ("gru", "lstm", "rnn_relu", "rnn_tanh")
RECURRENT = {getattr(torch, name): getattr(torch.ops.aten, name).input for name in _RECURRENT}
"""The operators of recurrent layers, by the public functions. PyTorch calls others for each step where it traces."""


def fault_of(operator: Any) -> str:
    """Why an operator can be no library step; "" if it can."""
    if not isinstance(operator, OpOverload) or operator.namespace != "aten":
        return "is no operator of ATen"
    schema = operator._schema
    tags = {*operator.tags}
    if any(one.name in DROPOUT for one in schema.arguments):  # a step's value of it decides (`library_faults`)
        tags.discard(torch.Tag.nondeterministic_seeded)
    found = [words for tag, words in TAGS.items() if tag in tags]
    if schema.is_mutable or any(one.alias_info is not None for one in (*schema.arguments, *schema.returns)):
        found.append("writes to its arguments or returns them")
    if {str(one.type) for one in schema.returns} != {"Tensor"}:
        found.append("returns more than tensors")
    if not any("Tensor" in str(one.type) for one in schema.arguments):
        found.append("reads no tensor")
    if "empty" in operator.overloadpacket.__name__:  # no tag says so
        found.append("returns memory that it did not write")
    return found[0] if found else ""


def functional_of(operator: OpOverload) -> OpOverload:
    """The overload that returns what this one writes to `out=` or to its first argument; itself where it writes to
    nothing, or where there is none."""
    if not operator._schema.is_mutable:
        return operator
    packet = getattr(torch.ops.aten, operator.overloadpacket.__name__.removesuffix("_"), operator.overloadpacket)
    return next((one for one in _like(operator, packet) if not one._schema.is_mutable), operator)


def writing_of(operator: OpOverload) -> OpOverload | None:
    """The overload that writes to `out=` what this one returns; None where there is none."""
    return next((one for one in _like(operator, operator.overloadpacket) if is_writing(one)), None)


def is_writing(operator: OpOverload) -> bool:
    """Whether it writes to `out=`."""
    return any(one.is_out for one in operator._schema.arguments)


def _like(operator: OpOverload, packet: Any) -> list[OpOverload]:
    """The overloads of a packet with the same parameters beside `out=`."""
    every = (getattr(packet, name) for name in packet.overloads())
    return [one for one in every if _parameters(one) == _parameters(operator)]


def _parameters(operator: OpOverload) -> list[tuple[str, str]]:
    return [(one.name, str(one.type)) for one in operator._schema.arguments if not one.is_out]
