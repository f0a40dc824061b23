"""Rendering of prompt templates: from a request and its context to the text that a model gets.

Every prompt of a run begins with the same text (the rules, then the problem), so that providers serve it from their
caches. The table of tried kernels follows, which grows at its end. `sections.py` renders each variable. A missing
variable is an error, and so is one that the template does not use, so templates and variables cannot drift apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from kernelwright.errors import KernelwrightError
from kernelwright.model import Operator, Request, Trial
from kernelwright.propose import changes, diagnosed, sections
from kernelwright.propose.protocol import Context
from kernelwright.propose.reflection import counters_of, parent_of, surprise
from kernelwright.propose.tried import history
from kernelwright.templates import shipped
from kernelwright.text.markdown import fenced

Edits = Literal["whole", "diff"]
"""How an existing kernel is changed: by a whole new module, or by a diff."""
Answer = Literal["whole", "diff", "mailbox"]
"""The answer forms of the rules: those of `Edits`, and the mailbox form, which also allows a bare module."""

DIFF = "Answer with a diff against trial {number}."
IN_WORDS = "Answer in words only, without a code block."

TIMES = "### Its times, and the bounds"
RESOURCES = "### What the compiler says"
CHANGE = {Operator.IMPROVE: "## What the last change did", Operator.REPAIR: "## What was changed before it failed"}
"""Headings of optional sections."""

VARIABLE = re.compile(r"\{\{(\w+)\}\}")


class NoPrompt(Exception):
    """This request has no prompt; the message says why."""


@dataclass(frozen=True)
class Prompt:
    """system: the rules, and the problem where the prompt is about one; identical in every prompt of a run."""

    system: tuple[str, ...]
    text: str


def template(name: str) -> str:
    """The shipped template with this name."""
    return shipped("kernelwright.prompts", f"{name}.md")


def render(text: str, values: Mapping[str, str], name: str = "the template") -> str:
    """`text` with each `{{variable}}` replaced. Braces within values are not interpreted."""
    wanted = set(VARIABLE.findall(text))
    if missing := sorted(wanted - values.keys()):
        raise KernelwrightError(f"{name} asks for {', '.join(missing)}, and nothing gives it a value")
    if unused := sorted(values.keys() - wanted):
        raise KernelwrightError(f"{name} does not use {', '.join(unused)}, which it is given")
    return VARIABLE.sub(lambda match: values[match[1]], text)


def prompt_for(request: Request, context: Context, answer: Answer = "whole") -> Prompt:
    """The prompt of a request. Raises `NoPrompt` where parents are missing, and for a request to tune."""
    operator = request.operator
    parents = known_parents(request, context)
    if operator is Operator.MERGE and len(parents) < 2:
        raise NoPrompt(f"a merge needs two parents with candidates, and request {request.number} has {len(parents)}")
    if operator is Operator.TUNE:
        raise NoPrompt("a request to tune has no prompt: a sampler chooses its config")
    values = {"name": context.problem.name, "history": section("## What was tried", history(context.trials))}
    if operator is not Operator.SEED:
        values |= parent_values(request, parents, context)
    if operator in (Operator.SEED, Operator.IMPROVE):
        values["structures"] = section("## Structures that match", sections.structures(context))
    if operator is not Operator.REPAIR:
        values["lessons"] = section("## What surprises have taught", sections.lessons(context.trials, context.lessons))
    text = render(template(operator.value), values, f"{operator.value}.md").rstrip()
    if answer == "diff" and is_editable(operator):
        text += "\n\n" + DIFF.format(number=parents[0].number)
    return Prompt(system(context, answer), text + "\n")


def section(heading: str, body: str) -> str:
    """An optional part of a template, with its heading; "" where `body` is empty."""
    return f"{heading}\n\n{body.strip()}\n\n" if body else ""


def system(context: Context, answer: Answer) -> tuple[str, str]:
    """The rules and the problem. They do not change during a run."""
    info, environment = context.problem, context.environment
    values = {
        "name": info.title,
        "problem": sections.problem(info),
        "cases": sections.cases(info, environment.device is not None),
        "machine": sections.machine(environment),
    }
    rules = render(template("system"), {"answer": template(f"answer_{answer}").strip()}, "system.md")
    return rules, render(template("problem"), values, "problem.md")


def is_editable(operator: Operator) -> bool:
    """Whether a diff against the first parent can answer it. A seed has no parent, and the other operators ask for new
    code."""
    return operator in (Operator.IMPROVE, Operator.REPAIR)


def plan_prompt(prompt: Prompt) -> Prompt:
    """Asks for a plan before `prompt`; it begins with the same text."""
    return Prompt(prompt.system, render(template("plan"), {"task": prompt.text}, "plan.md"))


def with_plan(prompt: Prompt, plan: str) -> Prompt:
    return Prompt(prompt.system, f"{prompt.text.rstrip()}\n\n## Your plan\n\n{plan.strip()}\n")


def mend_prompt(prompt: Prompt, source: str, diff: str, fault: str) -> Prompt:
    """Asks once more after the diff that answered `prompt` did not apply to `source`."""
    values = {"fault": fault, "parent": fenced(source), "diff": fenced(diff, "diff")}
    return Prompt(prompt.system, render(template("mend"), values, "mend.md"))


def reflect_prompt(trial: Trial, context: Context, answer: Answer) -> Prompt:
    """Asks, in a request without other tasks, why a trial was a surprise."""
    return Prompt(system(context, answer), f"{reflect_question(trial, context)}\n{IN_WORDS}\n")


def reflect_question(trial: Trial, context: Context) -> str:
    """The question alone. The trial must have a known parent."""
    before = parent_of(trial, {one.number: one for one in context.trials})
    assert before is not None
    old, new = counters_of(trial, context.trials, context.profiles)
    values = {
        "number": str(trial.number),
        "before": str(before.number),
        "surprise": surprise(before, trial),
        "note": trial.proposal.note or "nothing",
        "change": changes.change(trial, context.trials) or "Nothing.",
        "counters": sections.counter_table(old, new, (before.number, trial.number)),
    }
    return render(template("reflect"), values, "reflect.md")


def known_parents(request: Request, context: Context) -> list[Trial]:
    """The parents that have a candidate. Raises `NoPrompt` where an operator needs one and there is none."""
    by_number = {trial.number: trial for trial in context.trials}
    parents = [by_number[number] for number in request.parents if number in by_number]
    parents = [trial for trial in parents if trial.proposal.candidate is not None]
    if not parents and request.operator not in (Operator.SEED, Operator.MERGE):
        raise NoPrompt(
            f"request {request.number} is to {request.operator.value.replace('_', ' ')} trial "
            f"{', '.join(map(str, request.parents)) or '(none)'}, which has no candidate"
        )
    return parents


def parent_values(request: Request, parents: list[Trial], context: Context) -> dict[str, str]:
    """The parent variables that the operator's template uses."""
    operator, parent = request.operator, parents[0]
    values = {
        "parent_number": str(parent.number),
        "parent": sections.kernel(parent),
        "attempts": section("## What was changed in this code already", changes.attempts(parent, context.trials)),
    }
    if operator in (Operator.IMPROVE, Operator.REWRITE_SIMPLY, Operator.MERGE):
        values["results"] = section(TIMES, sections.results(parent, context.problem))
    if operator in (Operator.IMPROVE, Operator.REPAIR, Operator.MERGE):
        values["resources"] = section(RESOURCES, sections.compiler_resources(parent))
    if operator is Operator.IMPROVE:
        focus = sections.focus(request.number) if context.siblings else ""
        values["focus"] = f"\n\n{focus}" if focus else ""
        values["diagnosis"] = diagnosed.diagnosis(parent, context)
        values["counters"] = section("### What was counted", diagnosed.counters(parent, context))
    if operator is Operator.REPAIR:
        values["failure"] = sections.failure(parent, context.problem)
    if operator in (Operator.IMPROVE, Operator.REPAIR):
        values["change"] = section(CHANGE[operator], changes.change(parent, context.trials))
    if operator in (Operator.IMPROVE, Operator.MERGE):
        values["moves"] = render(template("moves"), {"moves": diagnosed.moves(parent, context)}, "moves.md").strip()
    if operator is Operator.MERGE:
        other = parents[1]
        values["other_number"] = str(other.number)
        values["other"] = sections.kernel(other)
        values["other_results"] = section(TIMES, sections.results(other, context.problem))
        values["other_resources"] = section(RESOURCES, sections.compiler_resources(other))
    return values
