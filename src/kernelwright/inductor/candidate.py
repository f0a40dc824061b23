"""Construction of candidates from the code that Inductor generated for one problem."""

from __future__ import annotations

import functools
import re
import traceback
from ast import literal_eval
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright import codec
from kernelwright.inductor.faults import NotConverted, UnknownText
from kernelwright.inductor.host import Host
from kernelwright.inductor.launches import Kernels
from kernelwright.inductor.offsets import guard
from kernelwright.inductor.products import Way, ways_for
from kernelwright.inductor.several import HALF, choice, is_literal, reads
from kernelwright.inductor.structures import Structures
from kernelwright.inductor.symbolic import Sized, host_lines
from kernelwright.inductor.writing import refusal
from kernelwright.model import Capture, Generated, Launch, LibraryMode, Sizes, TensorSpec
from kernelwright.source.parameter_names import as_argument

IMPORTS = "import torch\nimport triton\nimport triton.language as tl"

OTHER_IMPORTS = {
    "libdevice.": "from triton.language.extra import libdevice",
    "TensorDescriptor(": "from triton.tools.tensor_descriptor import TensorDescriptor",
}
"""For functions with these words."""

KEPT = 4
"""Number of conversions that are kept: of one run, and without its templates or of other sizes."""

CAPTURED_ONLY = "captured sizes only"
"""In the text of a candidate whose sizes are constants."""


def candidate_text(generated: Generated, library: LibraryMode = "any", split: bool = False) -> str:
    """The first of `candidate_texts`."""
    return candidate_texts(generated, library, split)[0]


def candidate_texts(generated: Generated, library: LibraryMode = "any", split: bool = False) -> list[str]:
    """The sources of candidates, the one that serves the most sizes first.

    The others are Inductor's variants, which reduce rows in one piece or
    have Triton templates in place of library calls; after these come the same kernels with the other configs that
    Inductor would time. library: the library steps that the problem allows. Where products and convolutions are not
    allowed, or are the whole computation, only candidates with templates in their place are returned. split: whether
    templates come with split float32 products first, see `products`.
    Raises `NotConverted` where no code can be converted completely.
    """
    with _in_words(generated):
        return _texts(generated, library, split)


def library_call(generated: Generated) -> str | None:
    """The library calls that are the whole computation of the timed case, in words; None where kernels compute some of
    it. A kernel that adds a convolution's bias belongs to the call."""
    parts = generated.captures[0].parts if generated.captures else ()
    for one in parts:
        is_launched = any(isinstance(step, Launch) for step in one.steps)
        if not one.library_calls or (is_launched and not one.is_one_operator):
            return None
    called = dict.fromkeys(f"aten.{call.operator.partition('.')[0]}" for one in parts[:1] for call in one.library_calls)
    return f"the library call is the computation ({', '.join(called)})" if called else None


@contextmanager
def _in_words(generated: Generated) -> Iterator[None]:
    """Make `NotConverted` of every error inside, with the version of torch or the place in this package."""
    try:
        yield
    except UnknownText as error:
        raise NotConverted(f"{error}, in the text of {_writer(generated)}") from error
    except NotConverted:
        raise
    except Exception as error:  # the text is Inductor's own, in whatever form
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}:{frame.lineno}"
        raise NotConverted(
            f"text of {_writer(generated)} in an unknown form ({type(error).__name__}: {error}; {where})"
        ) from error


def _writer(generated: Generated) -> str:
    return f"torch {generated.torch}" if generated.torch else "output_code.py"


def _texts(generated: Generated, library: LibraryMode, split: bool) -> list[str]:
    """See `candidate_texts`."""
    if not generated.captures:
        raise NotConverted(generated.reason)
    made, call, failures = _conversions(codec.encode(generated), split)
    allowed = [one.texts for one in made if not one.library or (library == "any" and call is None)]
    if allowed:
        return list(dict.fromkeys([*(texts[0] for texts in allowed), *(one for texts in allowed for one in texts)]))
    fault = f"; {generated.reason}" if generated.reason else ""
    if call is not None:
        why = f": {failures[0]}" if failures else fault
        raise NotConverted(f"{call}, and there is no Triton template in its place{why}")
    if failures or not made:
        raise failures[0] if failures else NotConverted(generated.reason)
    called = list(dict.fromkeys(made[0].library))
    needs = "needs" if len(called) == 1 else "need"
    raise NotConverted(f"it calls {', '.join(called)}, which {needs} LIBRARY = 'any' (--library any){fault}")


@functools.lru_cache(maxsize=KEPT)
def _conversions(generated_text: bytes, split: bool) -> tuple[list[_Made], str | None, list[NotConverted]]:
    """Everything that can be converted, the library calls that are the whole computation, and what failed.

    A run asks several times: before it begins, for each of its first kernels, and at its end for mode `any`."""
    generated = codec.decode(generated_text, Generated)
    call = library_call(generated)
    made: list[_Made] = []
    failures: list[NotConverted] = []

    def convert(captures: Sequence[Capture], *ways: Way | None) -> None:
        try:
            made.extend([_candidate(generated, captures, way) for way in ways if captures])
        except NotConverted as failure:
            failures.append(failure)

    ways = ways_for(generated, split)
    convert(generated.structures, *(one for one in ways[1:2] if one and one.precision), None)
    if call is None:
        convert(generated.captures, None)
    if made:
        with suppress(NotConverted):
            made += [_candidate(generated, generated.rows)] if generated.rows else []
    if generated.templates:
        convert(generated.templates, *ways)
    return made, call, failures


@dataclass(frozen=True)
class _Made:
    """A converted candidate. texts: with each config. library: operators of its library steps."""

    texts: list[str]
    library: list[str]


def _candidate(generated: Generated, captures: Sequence[Capture], way: Way | None = None) -> _Made:
    """captures: see `Generated`. way: to split products; None: exact products."""
    taken, structures, first = set[str](), Structures(), captures[0]
    inputs = [as_argument(name) for name, _ in generated.inputs]
    forwards = [_converted(generated, one, way, taken, structures, f"_SIZES_{number}" * (number > 1))
                for number, one in enumerate(captures, 1)]  # fmt: skip
    backward = [_converted(generated, one, way, taken, structures, "_BACKWARD") for one in first.parts[1:]]
    parts, several = [*forwards, *backward], {f"kernel_function_{n}": one for n, one in enumerate(forwards, 1)}
    if len(forwards) == 1:
        several, lines = {}, forwards[0].lines
    else:
        lines = choice(captures, [f"{name}({', '.join(one.used)})" for name, one in several.items()])
    text = "\n".join([*lines, *(name for one in forwards for name in one.used)])
    others = dict.fromkeys([*map(as_argument, first.names), *_roots(first)])
    held = [name for name in others if name not in inputs and re.search(rf"\b{name}\b", text)]
    signature = [*(literal_eval(generated.arguments or "None") or inputs), *held]
    mains = [_function(name, one.used, one.lines) for name, one in several.items()]
    mains.append(_function("kernel_function", signature, [*_unnested(generated), *lines]))
    mains += [_function("kernel_backward", one.used, one.lines) for one in backward]
    is_split = way is not None and way.precision is not None
    functions = dict.fromkeys([*(text for one in parts for text in one.kernels.functions), *structures.texts(is_split)])
    library = [name for one in parts for name in one.host.library]
    saved = f"SAVED = {first.saved!r}" if backward else ""
    before = [_header(generated.torch, first.sizes is not None, library, functions), *functions]
    texts = []
    for number in range(max(len(one.kernels.tunables) for one in parts)):
        tunables = [one.kernels.tunables[number if number < len(one.kernels.tunables) else 0] for one in parts]
        tunables.append("\n".join(structures.tunables))
        texts.append("\n\n\n".join(filter(None, [*before, *tunables, saved, *mains])) + "\n")
    return _Made(texts, library)


@dataclass(frozen=True)
class _Converted:
    """The kernels and the host code of a capture. used: the arguments that it reads."""

    host: Host
    kernels: Kernels
    used: list[str]
    lines: list[str]


def _converted(
    generated: Generated, capture: Capture, way: Way | None, taken: set[str], structures: Structures, suffix: str
) -> _Converted:
    """taken: names of kernels; those of this capture are added. suffix: of the names of tunables."""
    sizes = capture.sizes or Sizes(values={}, shapes=tuple(tuple(map(str, one.shape)) for one in capture.tensors))
    names = [*map(as_argument, capture.names)]
    tensors, sides = dict(zip(names, capture.tensors, strict=True)), dict(zip(names, sizes.shapes, strict=True))
    read = _texts_in(codec.plain((capture.steps, capture.outputs)))
    told = "".join(text for _, text, _ in sizes.reads)
    used = [name for name in names if name in read or f"{name}.shape[" in told]
    if not used:
        raise NotConverted("it reads no argument")
    changed = {*map(as_argument, generated.mutates)}
    dense = [line for name in used for line in _dense(name, tensors[name], name in changed)]
    half = next((name for name in used if tensors[name].dtype in HALF), None)
    dtypes = {f"torch.{tensors[half].dtype}": f"{half}.dtype"} if half else {}
    dimensions = {name: sides[name] for name in used}
    returns = literal_eval(generated.returns) if generated.returns and capture.backward is None else None
    host = Host(
        capture, Sized(capture, sizes), dimensions, dtypes, f"{used[0]}.device", structures, returns,
        [name and as_argument(name) for name in capture.returned],
    )  # fmt: skip
    kernels = Kernels(host, capture, way, taken, suffix)
    guarded = guard(host.reached)
    sized = host_lines(sizes, dimensions, "\n".join([*guarded, *host.lines]))
    pairs = [f"{name} = torch.view_as_real({name})" for name in map(as_argument, capture.pairs) if name in used]
    only = _only({text: one for text, one in capture.numbers.items() if is_literal(one)})
    before = "\n".join([*only, *sized])
    used += [name for name in _roots(capture) if name not in used and re.search(rf"\b{name}\b", before)]
    return _Converted(host, kernels, used, [*pairs, *only, *sized, *guarded, *dense, *host.lines])


def _roots(capture: Capture) -> list[str]:
    """The arguments with numbers that differ between cases."""
    return list(dict.fromkeys(text.partition("[")[0] for text in capture.numbers))


def _texts_in(plain: Any) -> set[str]:
    """Every text in plain data."""
    if isinstance(plain, str):
        return {plain}
    parts = plain.values() if isinstance(plain, dict) else plain if isinstance(plain, list | tuple) else ()
    return {text for part in parts for text in _texts_in(part)}


def _dense(name: str, spec: TensorSpec, is_changed: bool) -> list[str]:
    """Host code that gives an input the captured strides, which are dense in some order of its sides, and refuses
    others of an input that is changed in place."""
    order = sorted(range(len(spec.shape)), key=lambda side: -spec.stride[side])
    expected = 1
    for side in reversed(order):
        if spec.shape[side] != 1 and spec.stride[side] != expected:
            raise NotConverted(f"the input {name} has strides {spec.stride}")
        expected *= spec.shape[side]
    long = [side for side in order if spec.shape[side] != 1]
    back = [order.index(side) for side in range(len(order))]
    is_ordered = long == sorted(long)
    dense = name if is_ordered else f"{name}.permute({', '.join(map(str, order))})"
    if is_changed:
        return refusal(f"not {dense}.is_contiguous()", f"{name} is changed in place and is not dense")
    return [f"{name} = {dense}.contiguous()" + ("" if is_ordered else f".permute({', '.join(map(str, back))})")]


def _header(torch: str, is_sized: bool, library: Sequence[str], functions: Collection[str]) -> str:
    """torch: its version. is_sized: whether sizes are expressions."""
    more = "".join(f"\n{line}" for word, line in OTHER_IMPORTS.items() if any(word in one for one in functions))
    steps = f" Library steps: {', '.join(dict.fromkeys(library))}." if library else ""
    served = "They were generated for symbols in place of sizes, which are read from shapes; others are refused."
    writer = f"torch.compile of torch {torch}" if torch else "torch.compile"
    return (
        f'"""Converted from the kernels that {writer} generates for the reference.\n\n'
        f'{served if is_sized else f"They serve the {CAPTURED_ONLY}: all others are refused."}{steps}\n"""\n\n'
        f"{IMPORTS}{more}"
    )


def _unnested(generated: Generated) -> list[str]:
    """Host code that reads nested arguments, and refuses other values of numbers than the captured ones."""
    lines: list[str] = []
    inputs = [(as_argument(name), literal) for name, literal in generated.inputs]
    if generated.arguments:
        every = reads(literal_eval(generated.arguments))
        lines += [f"{name} = {read}" for (name, _), read in zip(inputs, every, strict=True) if name != read]
    fixed = {name: literal for name, literal in inputs if literal is not None}
    return lines + _only({name: one for name, one in fixed.items() if name not in generated.captures[0].numbers})


def _only(literals: Mapping[str, str]) -> list[str]:
    """Host code that refuses other values of arguments."""
    lines: list[str] = []
    for name, one in literals.items():
        test = f"{name} is not {one}" if one in ("None", "True", "False") else f"{name} != {one}"
        lines += refusal(test, f"the kernels are generated for {name} = {one}")
    return lines


def _function(name: str, signature: Sequence[str], lines: Sequence[str]) -> str:
    body = "\n    ".join(lines)
    return f"def {name}({', '.join(signature)}):\n    {body}"
