"""The kernels of a candidate with their tunables, and the lines of its host code that launch them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kernelwright.devices.first_configs import all_columns
from kernelwright.inductor import parts
from kernelwright.inductor.arithmetic import parsed
from kernelwright.inductor.faults import NotConverted
from kernelwright.inductor.functions import texts
from kernelwright.inductor.host import Host
from kernelwright.inductor.kernels import Converted, convert_kernel, readable_name
from kernelwright.inductor.products import SIZES_ARE_ARGUMENTS, Way, split_products
from kernelwright.inductor.reading import Kernel
from kernelwright.model import Capture, View

SMALL = 100
"""A kernel that many times smaller than the largest of a candidate takes no time worth tuning, and its config is
written where it is launched. Templates are always tuned."""


class Kernels:
    """Converts the kernels that the host code launches, and writes the launches into its lines.

    way: how templates split float32 products; None: not at all. taken: names of other kernels; those of these are
    added. suffix: of the names of tunables. Raises `NotConverted`.
    """

    def __init__(self, host: Host, capture: Capture, way: Way | None, taken: set[str], suffix: str = "") -> None:
        self._host, self._sized, self._way = host, host.sized, way
        self._written: dict[str, Converted] = {}
        self._taken, self._suffix = taken, suffix
        self._texts: list[str] = []
        self._tunables: list[list[str]] = [
            [] for _ in range(max((len(one.configs) for one in capture.kernels), default=1))
        ]
        elements = {kernel.name: self._elements(kernel, arguments) for _, kernel, arguments in host.launches}
        largest = max(elements.values(), default=0)
        templates = {kernel.name for _, kernel, _ in host.launches if kernel.generated.tiles is not None}
        self._tuned = [name for name, number in elements.items() if name in templates or number * SMALL >= largest]
        for line, kernel, arguments in host.launches:
            if kernel.name not in self._written:
                every = [given for _, one, given in host.launches if one.name == kernel.name]
                self._written[kernel.name] = self._converted(kernel, every)
            host.lines[line] = self._launch(kernel, arguments)

    @property
    def functions(self) -> list[str]:
        """The texts of all functions, callees first."""
        helpers = {helper for one in self._written.values() for helper in one.helpers}
        has_parts = any(one.factor is not None for one in self._written.values())
        return [*texts(helpers), *(parts.TEXTS if has_parts else ()), *self._texts]

    @property
    def tunables(self) -> list[str]:
        """The text of the tunables for each config: the n-th of every kernel, or its first where it has fewer."""
        return ["\n".join(lines) for lines in self._tunables]

    def _converted(self, kernel: Kernel, launches: Sequence[Sequence[str]]) -> Converted:
        """launches: the arguments of each launch."""
        pointers = sum("_ptr" in one.arg for one in kernel.main.args.args)
        called = [self._host.text(View(tensor=one)) for one in launches[0][:pointers]] if len(launches) == 1 else []
        if not kernel.generated.configs:
            raise NotConverted(f"{kernel.name} has no config")
        factor, found, with_sizes = None, self._sized.found, False
        if (tiles := kernel.generated.tiles) is not None and self._way is not None:
            with_sizes, main = self._way.with_sizes and not tiles.is_product, kernel.main
            if self._way.precision is not None:
                main, factor = split_products(main, self._way.precision)
            if factor is not None and not self._has_parts([arguments[factor] for arguments in launches]):
                main, factor = split_products(kernel.main, "tf32x3")
            kernel = replace(kernel, main=main)
        if factor is not None:
            elements = self._host.elements_of(launches[0][factor]).text()
            found = {**found, parts.ELEMENTS: parsed(elements)}
        name = readable_name(kernel, self._taken)
        converted = convert_kernel(kernel, name, found, called, with_sizes)
        constants = self._add_tunables(kernel, converted)
        operations = ", ".join(one.rpartition(".")[2].strip("_") for one in kernel.generated.operations)
        comment = f"# Fuses: {operations}.{SIZES_ARE_ARGUMENTS * with_sizes}"
        self._texts += [*converted.texts[:-1], f"{comment}\n{converted.texts[-1]}"]
        return replace(converted, constants=constants, factor=factor)

    def _elements(self, kernel: Kernel, arguments: Sequence[str]) -> int:
        """How many elements a launch maps, reduces or, by a template, makes for one group."""
        if (tiles := kernel.generated.tiles) is not None:
            return tiles.rows * tiles.columns
        extents = [given for one, given in zip(kernel.main.args.args, arguments, strict=False) if "_ptr" not in one.arg]
        return math.prod(int(self._sized.number(one)) for one in extents)

    def _has_parts(self, factors: Sequence[str]) -> bool:
        """Whether all factors begin where their tensors begin, and these have the same number of elements: a kernel
        finds the low parts behind as many high ones."""
        whole = all(self._host.tensor_of(one) is not None for one in factors)
        return whole and len({self._host.elements_of(one).text() for one in factors}) == 1

    def _add_tunables(self, kernel: Kernel, converted: Converted) -> Mapping[str, str]:
        """The module's names of a kernel's tunables, whose lines are added; for a small kernel the numbers."""
        listed = [*kernel.generated.configs]
        if (tiles := kernel.generated.tiles) is not None:
            begun = self._way.config(tiles) if self._way is not None else {}
            listed = [{**kernel.blocks, **one, **begun} for one in listed]
            listed = [{**one, "BLOCK_N": min(one["BLOCK_N"], all_columns(tiles))} for one in listed]
        keys = (*converted.blocks, "num_warps", "num_stages")
        if missing := {*keys} - listed[0].keys():
            raise NotConverted(f"the config of {kernel.name} has no {', '.join(sorted(missing))}")
        if kernel.name not in self._tuned:
            return {key: str(listed[0][key]) for key in keys}
        suffix = f"_{self._tuned.index(kernel.name) + 1}" if len(self._tuned) > 1 else ""
        constants = {key: f"{key.upper()}{self._suffix}{suffix}" for key in keys}
        for number, lines in enumerate(self._tunables):
            config = listed[number] if number < len(listed) else listed[0]
            lines += [f"# {converted.name}"] * bool(suffix)
            lines += [f"{name} = {config[key]}" for key, name in constants.items()]
        return constants

    def _launch(self, kernel: Kernel, arguments: Sequence[str]) -> str:
        one, before = self._written[kernel.name], list[str]()
        if one.factor is not None and (tensor := self._host.tensor_of(arguments[one.factor])) is not None:
            split, before = self._host.parts_of(arguments[one.factor], tensor)
            arguments = [*arguments[: one.factor], split, *arguments[one.factor + 1 :]]
        return "\n    ".join([*before, self._host.launch(kernel, one, arguments)])
