"""The least work of a forward: bytes that it has to read and write, and FLOP of its products by dtype.

Reads are the elements that the outputs depend on, one by one if an operator has a rule in `needs`. Writes are all
outputs that do not share memory with an input, and the changed elements of inputs that forward changes in place. FLOP
are those of the operators that forward itself calls.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from torch import Tensor

from kernelwright.model import OperatorKind, TensorRead
from kernelwright.worker.bounds.demand import Demand
from kernelwright.worker.bounds.indices import NONE_IGNORED, READ_ALIKE, WRITTEN_APART, changed
from kernelwright.worker.bounds.needs import follow
from kernelwright.worker.bounds.rules import kinds
from kernelwright.worker.bounds.tape import Tape, View
from kernelwright.worker.reference.instance import Instance, given, mutated, ran


@dataclass(frozen=True)
class Work:
    """The least work of a case. reads: one for each input, parameter and buffer. flop: by the dtype of the operands.
    assumed: the assumptions that were made because values were missing. reads_changed: whether forward reads an input
    that it changes in place, so that a call depends on the call before. kinds: of the operators, by name."""

    reads: tuple[TensorRead, ...]
    written_bytes: int
    flop: dict[str, int]
    assumed: tuple[str, ...]
    reads_changed: bool = False
    kinds: dict[str, OperatorKind] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        return sum(read.bytes for read in self.reads) + self.written_bytes

    @property
    def depends_on_values(self) -> bool:
        """Whether known values of an index would make the work more exact."""
        return not {READ_ALIKE, WRITTEN_APART, NONE_IGNORED}.isdisjoint(self.assumed)


@dataclass(frozen=True)
class Taped:
    """The tape of one call of the reference. tensors: inputs, parameters and buffers, by name. mutates: the storages of
    inputs that it changes in place, by the names in `tensors`."""

    tape: Tape
    tensors: list[tuple[str, View]]
    results: list[View]
    mutates: dict[str, int]


def taped(instance: Instance, drawn: dict[str, Tensor] | None = None) -> Taped:
    """Run the reference once on the instance's own inputs, which may be fake tensors, and record its operators. drawn:
    values of fake inputs, by their names."""
    tape = Tape()
    for name, value in zip(instance.input_names, instance.inputs, strict=True):
        if isinstance(value, Tensor) and drawn and name in drawn:
            tape.draw(value, drawn[name])
    tensors = [(name, tape.view(tensor)) for name, tensor in given(instance)]
    with tape:
        made = ran(instance)
    mutates = {f"input {name}": tape.view(tensor).storage for name, tensor in mutated(instance).items()}
    return Taped(tape=tape, tensors=tensors, results=[tape.view(output) for output in made], mutates=mutates)


def least_work(call: Taped) -> Work:
    """The work of a taped call. Must not run inside a fake tensor mode, because masks need values."""
    tape, tensors, results = call.tape, call.tensors, call.results
    own = frozenset(view.storage for _, view in tensors)
    demand, written = Demand(tape, own), Demand(tape)
    for result in results:
        if result.storage not in own:  # otherwise it is a given tensor, returned as it is: neither read nor written
            demand.add(result)
            written.add(result)
    for step in tape.steps:
        for target in [step.arguments.get(name) for name in step.written]:
            if isinstance(target, View) and target.storage in call.mutates.values():
                elements = changed(step, target, demand)
                demand.add(target, elements)
                written.add(target, elements)
    storages = {result.storage for result in results} | set(call.mutates.values())
    written_bytes = sum(written.bytes(storage) for storage in storages)
    flop: Counter[str] = Counter()
    for step in reversed(tape.steps):
        share = follow(step, demand)
        if step.flop:
            flop[step.dtype] += int(step.flop * share)
    reads = _reads(tensors, demand)
    return Work(
        reads=reads, written_bytes=written_bytes,
        flop={dtype: count for dtype, count in flop.items() if count}, assumed=tuple(demand.assumed),
        reads_changed=any(read.bytes > 0 and read.name in call.mutates for read in reads),
        kinds=kinds(tape.steps),
    )  # fmt: skip


def _reads(tensors: list[tuple[str, View]], demand: Demand) -> tuple[TensorRead, ...]:
    """The bytes that are read of each tensor. Memory that several tensors share counts for the first of them."""
    found, seen = [], set()
    for name, view in tensors:
        read = 0 if view.storage in seen else demand.bytes(view.storage)
        wanted = demand.of(view)
        rows = None
        if isinstance(wanted, Tensor) and len(view.shape) > 1:
            rows = int(wanted.flatten(1).any(1).sum())
        found.append(TensorRead(name=name, bytes=read, of_bytes=demand.extent(view), rows=rows))
        seen.add(view.storage)
    return tuple(found)
