"""Every command that a page shows can be typed: its verb, options and choices, make's targets, the programs of ours.

Nothing is run. A placeholder (`RUN`, `…`) stands for a value and is taken for one.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from kernelwright.cli.main import VERBS, cli
from pages import PAGES, ROOT, Code, codes, named

SHELLS = ("", "sh", "bash", "console", "text")
ELSEWHERE = {
    "--": "ends the options of a command",
    "--cache-control": "ncu",
    "--clock-control": "ncu",
    "--compile-cache": "the worker itself (python -m kernelwright.worker)",
    "--help": "every verb has it",
    "--version": "the front door has it",
}
"""Options within sentences that belong to no verb."""


def command_lines(code: Code) -> list[str]:
    """The lines of a page that begin with a command of ours."""
    if code.language not in SHELLS:
        return []
    joined = code.text.replace("\\\n", " ")
    lines = [re.sub(r"^\$ |(^| )#.*| (>|\||&&) .*", "", line.strip()) for line in joined.splitlines()]
    begin = ("kernelwright ",) if code.inline else ("kernelwright ", "make ", "python benchmarks/")
    return [line for line in lines if line.startswith(begin)]


def fault(line: str) -> str | None:
    """Why a line cannot be typed; None where it can."""
    program, *arguments = shlex.split(line)
    if program == "make":
        targets = [word for word in arguments if "=" not in word]
        makefile = (ROOT / "Makefile").read_text()
        return next((f"no target {one}" for one in targets if not re.search(rf"^{one}:", makefile, re.M)), None)
    if program == "python":
        return None if (ROOT / arguments[0]).is_file() else f"no file {arguments[0]}"
    verb, *rest = arguments
    if verb in ("--help", "-h", "--version", "VERB", "…"):
        return None
    if verb not in VERBS:
        return f"no verb {verb!r}"
    return unusable(verb, [word for word in rest if word not in ("…", "[…]", "[OPTIONS]")])


def unusable(verb: str, words: list[str]) -> str | None:
    """What click says of the words after a verb, files aside: they need not be there."""
    context = click.Context(cli)
    command = cli.get_command(context, verb)
    assert command is not None
    own = click.Context(command, info_name=verb, parent=context)
    try:
        given, left, _ = command.make_parser(own).parse_args(list(words))
        for option in command.params:
            if isinstance(option.type, click.Choice) and isinstance(given.get(option.name or ""), str):
                value = given[option.name or ""]
                if not value.isupper():
                    option.type.convert(value, option, own)
    except click.UsageError as error:
        return error.format_message()
    return f"left over: {left}" if left else None


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_command_line_on_a_page_can_be_typed(page: Path) -> None:
    found = [(code.line, line, fault(line)) for code in codes(page) for line in command_lines(code)]
    assert [one for one in found if one[2] is not None] == []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_option_within_a_sentence_is_one_of_some_verb(page: Path) -> None:
    context = click.Context(cli)
    verbs = [cli.get_command(context, verb) for verb in VERBS]
    known = {name for verb in verbs if verb for param in verb.params for name in (*param.opts, *param.secondary_opts)}
    phrases = [code for code in codes(page) if code.inline and code.text.startswith("--")]
    unknown = [
        (code.line, code.text) for code in phrases if re.split(r"[ =]", code.text)[0] not in {*known, *ELSEWHERE}
    ]
    assert unknown == []


def test_the_readme_names_every_verb_and_begins_with_demo_and_test() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = readme[readme.index("## Commands") : readme.index("## What an H200")]
    assert [verb for verb in VERBS if not re.search(rf"`{verb}[ `]", table)] == []
    first_screen = readme[: readme.index("## Installing")].splitlines()[:30]
    assert [line.split("#")[0].strip() for line in first_screen if line.startswith("make ")] == [
        "make demo",
        "make test",
    ]


def test_pages_show_commands_at_all() -> None:
    shown = [line for page in PAGES for code in codes(page) for line in command_lines(code)]
    assert len(shown) > 40


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("kernelwright optimise softmax", "no verb 'optimise'"),
        ("kernelwright optimize softmax --minuets 3", "No such option"),
        ("kernelwright report RUN --format pdf", "'pdf' is not one of"),
        ("kernelwright pause RUN AGAIN", "left over"),
        ("make coffee", "no target coffee"),
        ("python benchmarks/nothing.py", "no file"),
    ],
)
def test_a_line_that_cannot_be_typed_is_found(line: str, why: str) -> None:
    assert why in str(fault(line))


@pytest.mark.parametrize(
    "line", ["kernelwright report RUN --format FORMAT", "kernelwright bench PROBLEM A.py B.py", "make demo"]
)
def test_placeholders_stand_for_values(line: str) -> None:
    assert fault(line) is None
