"""Templates filled in: from a request and its context to the text that a model is given.

What each variable says is `sections.py`. The one rule: a variable that is missing, or that the template does not use,
is an error, so a template and its variables cannot drift apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from kernelwright.errors import KernelwrightError
from kernelwright.model import Operator, Request, Trial
from kernelwright.propose import sections
from kernelwright.propose.protocol import Context
from kernelwright.propose.tried import history

VARIABLE = re.compile(r"\{\{(\w+)\}\}")


class NoPrompt(Exception):
    """This request cannot be put into words; the message says why."""


@dataclass(frozen=True)
class Prompt:
    system: str
    text: str


def template(name: str) -> str:
    """The template of that name, as it is shipped."""
    return resources.files("kernelwright.prompts").joinpath(f"{name}.md").read_text(encoding="utf-8")


def render(text: str, values: Mapping[str, str], name: str = "the template") -> str:
    """`text` with each `{{variable}}` replaced. Values are put in as they are: braces in them mean nothing."""
    wanted = set(VARIABLE.findall(text))
    if missing := sorted(wanted - values.keys()):
        raise KernelwrightError(f"{name} asks for {', '.join(missing)}, and nothing gives it a value")
    if unused := sorted(values.keys() - wanted):
        raise KernelwrightError(f"{name} does not use {', '.join(unused)}, which it is given")
    return VARIABLE.sub(lambda match: values[match[1]], text)


def prompt_for(request: Request, context: Context) -> Prompt:
    """What a model is asked. Raises `NoPrompt` where the request names parents that are not there."""
    operator = request.operator
    parents = known_parents(request, context)
    if operator is Operator.MERGE and len(parents) < 2:
        raise NoPrompt(f"a merge needs two parents with candidates, and request {request.number} has {len(parents)}")
    if operator is Operator.TUNE:
        raise NoPrompt("tuning is a matter of numbers, not of writing")
    values = {
        "name": context.problem.name,
        "problem": sections.problem(context.problem),
        "cases": sections.cases(context.problem),
        "machine": sections.machine(context.environment),
        "history": history(context.trials),
    }
    if operator is not Operator.SEED:
        values |= parent_values(operator, request.number, parents, context)
    name = operator.value
    return Prompt(system=render(template("system"), {}, "system.md"), text=render(template(name), values, f"{name}.md"))


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


def parent_values(operator: Operator, number: int, parents: list[Trial], context: Context) -> dict[str, str]:
    """The variables about the parents that the operator's template uses."""
    parent = parents[0]
    values = {"parent_number": str(parent.number), "parent": sections.kernel(parent)}
    if operator in (Operator.IMPROVE, Operator.REWRITE_SIMPLY, Operator.MERGE):
        values["results"] = sections.results(parent, context.problem)
    if operator in (Operator.IMPROVE, Operator.REPAIR, Operator.MERGE):
        values["resources"] = sections.compiler_resources(parent)
    if operator is Operator.IMPROVE:
        values["focus"] = sections.focus(number)
        values["reading"] = sections.reading(parent, context.problem)
    if operator is Operator.REPAIR:
        values["failure"] = sections.failure(parent, context.problem)
    if operator in (Operator.IMPROVE, Operator.REPAIR):
        values["change"] = sections.change(parent, context.trials)
    if operator in (Operator.IMPROVE, Operator.MERGE):
        values["moves"] = template("moves").strip()
    if operator is Operator.MERGE:
        other = parents[1]
        values["other_number"] = str(other.number)
        values["other"] = sections.kernel(other)
        values["other_results"] = sections.results(other, context.problem)
        values["other_resources"] = sections.compiler_resources(other)
    return values
