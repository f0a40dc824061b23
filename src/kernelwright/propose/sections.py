"""Sections of a prompt: each function renders one piece of Markdown about the problem, a trial or the run."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec

from kernelwright.diagnosis.traits import multiplies_float32
from kernelwright.errors import ConfigError, ProblemError
from kernelwright.model import (
    Candidate,
    CaseInfo,
    CaseResult,
    Environment,
    Evaluation,
    Generated,
    ProblemInfo,
    Scalar,
    Status,
    Structure,
    TensorSpec,
    Timing,
    Trial,
    dense_stride,
)
from kernelwright.propose.protocol import Context
from kernelwright.propose.reached import reached
from kernelwright.propose.shown import shown_source
from kernelwright.propose.tried import outcome
from kernelwright.source import apply_config, default_config
from kernelwright.templates import shipped
from kernelwright.text.markdown import fenced, shortened, table

LOG_CHARACTERS = 1500
MOST_LESSONS = 8
"""Maximum lessons of this run in a prompt; the latest ones are shown."""


class Sentences(msgspec.Struct, frozen=True):
    """The content of prompts/sentences.toml."""

    every_step: str
    structures: str
    operators_only: str
    gradients: str
    focuses: list[str]
    library_steps: dict[str, str]
    steps_multiply: dict[str, str]
    layouts: dict[str, str]
    float32_products: dict[str, str]


@functools.cache
def sentences() -> Sentences:
    return msgspec.convert(tomllib.loads(shipped("kernelwright.prompts", "sentences.toml")), Sentences)


class Rejection(msgspec.Struct, frozen=True):
    """What a repair prompt says of a rejection whose reason contains one of `words`."""

    words: tuple[str, ...]
    rule: str
    example: str


@functools.cache
def rejections() -> tuple[Rejection, ...]:
    """The content of prompts/rejections.toml, in order: the first that fits is shown."""
    read = tomllib.loads(shipped("kernelwright.prompts", "rejections.toml"))
    return tuple(msgspec.convert(read["rejection"], list[Rejection]))


def cure(reason: str) -> str:
    """The rule that a rejected candidate breaks, with an example; "" where none is known."""
    for one in rejections():
        if any(words in reason for words in one.words):
            return f"The rule: {one.rule} For example:\n\n{fenced(one.example)}"
    return ""


# --- the task -----------------------------------------------------------------------------------------------


def problem(info: ProblemInfo) -> str:
    """The reference's source, with the parts of its modules that it uses; where the source is withheld, its
    operators."""
    if info.source:
        text, docstring = shown_source(info.source), info.docstring.strip()
        parts = ["" if docstring in text else docstring, fenced(text)]
        modules = reached(info.source, info.modules)
        parts += [f"It imports `sources/{path}`:\n\n{fenced(text)}" for path, text in modules.items() if text.strip()]
    else:
        parts = [sentences().operators_only, fenced("\n".join(info.operators), "text")]
    if info.parameters:
        rows = [[f"`{name}`", "×".join(map(str, shape)) or "scalar"] for name, shape in info.parameters.items()]
        parts.append("Parameters and buffers of the reference:\n\n" + table(["name", "shape"], rows))
    if info.library != "none":
        products = [sentences().steps_multiply[info.precision]] if info.library == "any" else []
        parts.append(" ".join([sentences().library_steps[info.library], sentences().every_step, *products]))
    return "\n\n".join(part for part in parts if part)


def cases(info: ProblemInfo, has_gpu: bool = True) -> str:
    """The table of cases. Held-out cases are not shown."""
    shown = [case for case in info.cases if not case.case.held_out]
    rows = [
        [
            case.case.name,
            "yes" if case.case.timed else "no, checked only",
            "; ".join(named(case)),
            "; ".join(map(tensor, case.outputs)),
            f"{case.bound.bound_us:.3g}" if case.case.timed else "-",
            f"{case.bound.bound_by}" if case.case.timed else "-",
        ]
        for case in shown
    ]
    text = table(["case", "timed", "inputs", "outputs", "bound (µs)", "set by"], rows)
    timed = [case for case in shown if case.case.timed]
    products = sentences().float32_products["no_gpu" if info.precision == "ieee" and not has_gpu else info.precision]
    if timed:
        text += (
            f"\n\nThe bound is the least time for the work that the reference does or states (peaks: "
            f"{timed[0].bound.peaks}). Other sizes, strides and alignments are checked too, so mask what may be ragged."
            f" {sentences().layouts[info.layouts]}{products if multiplies_float32(info) else ''}"
        )
    if called := call(info):
        text += f"\n\n{called}"
    if info.gradients:
        text += f"\n\n{sentences().gradients}"
    return text


def call(info: ProblemInfo) -> str:
    """How arguments and outputs are passed, as far as the table of cases does not say it; "" where nothing is
    missing."""
    first, parts = info.cases[0], []
    if first.arguments:
        parts.append(
            f"Inputs are nested: the arguments by name are `{first.arguments}`, where a number is the place of an "
            "input in the table, from 0. You get them nested like this."
        )
    if first.keywords:
        parts.append(f"`forward` gets {listed(first.keywords)} by keyword.")
    if first.returns:
        parts.append(
            f"Outputs are nested: return `{first.returns}`, where a number is the place of an output in the table, "
            "from 0 (a list counts as a tuple, a dataclass as a dict)."
        )
    if first.mutates:
        parts.append(
            f"`forward` changes {listed(first.mutates)} in place. Write to the tensors that you are given; their new "
            "values are the last outputs of the table, and are not returned for that. Elements that `forward` leaves "
            "alone keep their values."
        )
        own = {place: name for place, name in enumerate(first.lies_in) if name}
        parts += [f"Output {place} is {listed([name])} itself: return that tensor." for place, name in own.items()]
        if len(first.outputs) == len(first.mutates):
            parts.append("Return nothing.")
    return " ".join(parts)


def listed(names: Sequence[str]) -> str:
    """ "`a`, `b` and `c`"."""
    quoted = [f"`{name}`" for name in names]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def named(case: CaseInfo) -> list[str]:
    """The inputs of a case, each with its name where it has one of its own."""
    names = [f"`{name}` " for name in case.input_names]
    names = names if len(names) == len(case.inputs) else [""] * len(case.inputs)
    return [name + tensor(one) for name, one in zip(names, case.inputs, strict=True)]


def tensor(spec: TensorSpec | Scalar | None) -> str:
    """For example `(64, 128) float16`, with strides where the tensor is not dense and row-major."""
    if not isinstance(spec, TensorSpec):
        return repr(spec)
    shape = ", ".join(map(str, spec.shape)) + ("," if len(spec.shape) == 1 else "")
    strides = "" if spec.stride == dense_stride(spec.shape) else f", strides {spec.stride}"
    return f"({shape}) {spec.dtype}{strides}"


def machine(environment: Environment) -> str:
    versions = f"torch {environment.torch}, Triton {environment.triton}"
    if environment.device is None:
        return (
            f"No GPU here: kernels are compiled for {environment.target} ({versions}), and every time below is an "
            "estimate from bytes, FLOP and compiler resources, not a measurement. Estimates compare configs of one "
            "kernel; they do not compare two structures."
        )
    lines = [f"{environment.device} ({environment.target}), {versions}."]
    peaks = [
        f"{name.removesuffix('_per_s').replace('_', ' ')}/s {value:.3g}" for name, value in environment.peaks.items()
    ]
    if peaks:
        lines.append(f"Peaks ({environment.peaks_source}): {', '.join(peaks)}.")
    return " ".join(lines)


def focus(number: int) -> str:
    """The aspect that a request should look at first. Requests for the same kernel in the same round would otherwise
    have the same prompt."""
    focuses = sentences().focuses
    return (
        f"Others are changing this kernel at the same time. So that two do not make the same change, think first of "
        f"{focuses[number % len(focuses)]}. If nothing there is worth trying, choose something else."
    )


# --- a trial ------------------------------------------------------------------------------------------------


def effective_source(candidate: Candidate) -> str:
    """The source with its config written in; unchanged where that is not possible."""
    try:
        return apply_config(candidate.source, candidate.config)
    except ConfigError:
        return candidate.source


def kernel(trial: Trial) -> str:
    candidate = trial.proposal.candidate
    if candidate is None:
        return f"Trial {trial.number} has no candidate: {trial.proposal.error}"
    source = effective_source(candidate)
    parts = [fenced(source)]
    values = default_config(source) | candidate.config
    if values:
        parts.append("Its tunables: " + ", ".join(f"`{key}` = {value}" for key, value in values.items()) + ".")
    if trial.evaluation is not None and trial.evaluation.serves:
        names = [one.name for one in trial.evaluation.serves]
        parts += ["It serves dense inputs only."] if "dense" in names else []
        parts += ["It does not serve some sizes."] if "sized" in names else []
    return "\n\n".join(parts)


def results(trial: Trial, info: ProblemInfo) -> str:
    """Per timed case: the time, and the ratio of a measured one to the bound."""
    evaluation = trial.evaluation
    if evaluation is None or evaluation.score_us is None:
        return f"It was not timed ({outcome(trial)})."
    bounds = {case.case.name: case.bound for case in info.cases}
    rows = [
        [
            result.case,
            time(result.timing),
            f"{result.timing.median_us / bounds[result.case].bound_us:.2f}×"
            if result.timing.kind == "measured"
            else "-",
        ]
        for result in shown_results(evaluation, info)
        if result.timing is not None and result.case in bounds and bounds[result.case].bound_us > 0
    ]
    text = table(["case", "time", "times the bound"], rows)
    kind = "an estimate, nothing ran on a GPU" if evaluation.timing_kind == "estimate" else "measured"
    return f"{text}\n\nGeometric mean over the timed cases: {evaluation.score_us:.4g} µs ({kind})."


def compiler_resources(trial: Trial) -> str:
    evaluation = trial.evaluation
    if evaluation is None or not evaluation.kernels:
        return ""
    rows = {
        (
            f"`{one.kernel}`",
            str(one.registers),
            str(one.spill_bytes),
            str(one.shared_bytes),
            str(one.num_warps),
            str(one.num_stages),
            f"{100 * one.occupancy:.0f} % (by {one.limited_by})",
        ): None
        for one in evaluation.kernels
    }
    header = [
        "kernel",
        "registers/thread",
        "spilled bytes/thread",
        "shared bytes/block",
        "warps",
        "stages",
        "occupancy",
    ]
    return table(header, list(rows))


def failure(trial: Trial, info: ProblemInfo) -> str:
    """Why a trial failed, case by case, with the output that it printed."""
    evaluation = trial.evaluation
    if evaluation is None:
        return trial.proposal.error or "It has no evaluation."
    parts = [f"Status: **{evaluation.status.value}**. {evaluation.reason}".strip()]
    if evaluation.status is Status.REJECTED and (rule := cure(evaluation.reason)):
        parts.append(rule)
    rows = [
        [result.case, result.status.value, error_text(result), shortened(result.reason, 300)]
        for result in shown_results(evaluation, info)
        if result.status is not Status.PASSED
    ]
    if rows:
        parts.append(table(["case", "status", "largest relative error (allowed)", "reason"], rows))
    passed = [result.case for result in shown_results(evaluation, info) if result.status is Status.PASSED]
    if passed:
        parts.append(f"Cases that pass: {', '.join(passed)}.")
    if evaluation.log.strip():
        parts.append("What it printed (the end):\n\n" + fenced(evaluation.log.strip()[-LOG_CHARACTERS:], "text"))
    return "\n\n".join(parts)


def lessons(trials: Sequence[Trial], cards: Sequence[str]) -> str:
    """Lessons from surprises of this run and of earlier ones; "" where there are none."""
    found = [trial.proposal.reflection for trial in trials if trial.proposal.reflection is not None]
    # Of several reflections on one trial, use the first whose claims hold.
    valid = {one.trial: one for one in reversed(found) if one.claims_hold}
    here = [f"{valid[number].lesson} (trial {number})" for number in sorted(valid)]
    lines = [f"- {line}" for line in (*here[-MOST_LESSONS:], *cards)]
    return "\n".join(lines)


def counter_table(before: Mapping[str, float], after: Mapping[str, float], names: tuple[int, int]) -> str:
    """The counters of two trials side by side."""
    rows = [
        [f"`{name}`", *(f"{one[name]:.6g}" if name in one else "-" for one in (before, after))]
        for name in dict.fromkeys((*before, *after))
    ]
    header = ["counter", *(f"trial {number}" for number in names)]
    return table(header, rows) if rows else "None is known of either."


# --- words --------------------------------------------------------------------------------------------------


def shown_results(evaluation: Evaluation, info: ProblemInfo) -> list[CaseResult]:
    """The results of cases that are not held out."""
    hidden = {case.case.name for case in info.cases if case.case.held_out}
    return [result for result in evaluation.results if result.case not in hidden]


def time(timing: Timing | None) -> str:
    if timing is None:
        return "-"
    if timing.kind == "estimate":
        return f"{timing.median_us:.4g} µs (estimate)"
    low_high = f" (95 %: {timing.ci95_us[0]:.4g} to {timing.ci95_us[1]:.4g})" if timing.ci95_us else ""
    return f"{timing.median_us:.4g} µs{low_high}"


def error_text(result: CaseResult) -> str:
    if result.max_rel_error is None:
        return "-"
    allowed = f" ({result.allowed_rel_error:.2g})" if result.allowed_rel_error is not None else ""
    return f"{result.max_rel_error:.2g}{allowed}"


def structures(context: Context) -> str:
    """Every structure that matches parts of the reference, once; "" where none does."""
    generated = Generated()
    with suppress(ProblemError):  # another check says what is wrong with the problem
        generated = context.generate()
    parts = [part for capture in generated.structures[:1] for part in capture.parts]
    found = {one.structure.function: one.structure for part in parts for one in reversed(part.structures)}
    return (
        "\n\n".join([sentences().structures, *(_structure_text(one, context) for one in found.values())])
        if found
        else ""
    )


def _structure_text(structure: Structure, context: Context) -> str:
    """A structure's idea, and the first trial with its kernels, or their text."""
    has_it = f"\ndef {structure.function}_kernel("
    tried = [one for one in context.trials if one.proposal.candidate and has_it in one.proposal.candidate.source]
    begin = f"- **{structure.function}.** {structure.idea}"
    if tried:
        return f"{begin} Trial {tried[0].number} has it."
    tunables = [f"{structure.function.upper()}_{key} = {value}" for key, value in structure.config.items()]
    return f"{begin} No trial has it yet:\n\n" + fenced("\n".join([structure.source, "", "", *tunables]))
