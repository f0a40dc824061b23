"""The script proposer: it answers with the replies of a file, in order. For tests and demonstrations.

The file is JSON lines, or a Python file whose `REPLIES` is a list of texts; it is parsed, never executed. Reply k
answers the k-th request that came without a candidate, so a resumed run continues with the next reply.
"""

from __future__ import annotations

import ast
from pathlib import Path

import msgspec

from kernelwright.errors import ConfigError
from kernelwright.llm.protocol import Reply
from kernelwright.model import Candidate, Proposal, Record, Request, Usage
from kernelwright.propose.protocol import Advisor, Context, Proposer
from kernelwright.propose.reply import Unusable, candidate_in, note_in
from kernelwright.source import parse as syntax
from kernelwright.text.escape import encodable
from kernelwright.textfile import read_given

AUTHOR = "script"


class ScriptLine(Record, frozen=True, kw_only=True):
    """One answer: a whole reply as a model would give it, or a source with a config, or an error.

    usage: the cost to report for this answer, so that budgets can be tested.
    """

    reply: str | None = None
    source: str | None = None
    config: dict[str, int] = msgspec.field(default_factory=dict)
    error: str | None = None
    note: str = ""
    usage: Usage = Usage()


class Script(Proposer):
    """Stateless, hence thread-safe. Raises `ConfigError` for a file that is not a valid script."""

    author = AUTHOR
    shows_profiles = False

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lines = read_script(file)

    def answers_at_once(self, request: Request) -> bool:
        return True

    def propose(self, request: Request, context: Context) -> Proposal:
        index = request.number - sum(
            trial.request.candidate is not None and trial.number < request.number for trial in context.trials
        )
        if index >= len(self._lines):
            return Proposal(author=AUTHOR, error=f"{self._file.name} has {len(self._lines)} replies, and all were used")
        line = self._lines[index]
        if line.source is not None:
            candidate = Candidate(source=line.source, config=line.config)
            return Proposal(author=AUTHOR, candidate=candidate, usage=line.usage, note=line.note)
        if line.reply is None:
            return Proposal(author=AUTHOR, error=line.error, usage=line.usage, note=line.note)
        kept = context.put_blob(line.reply)
        note = line.note or note_in(line.reply)
        try:
            candidate = candidate_in(line.reply, context.trials, context.in_flight)
        except Unusable as unusable:
            return Proposal(author=AUTHOR, error=str(unusable), usage=line.usage, reply=kept, note=note)
        return Proposal(author=AUTHOR, candidate=candidate, usage=line.usage, reply=kept, note=note)


def read_script(file: Path) -> tuple[ScriptLine, ...]:
    """The answers in a file. Raises `ConfigError`."""
    text = read_given(file, ConfigError, "give a .jsonl or .py file", "the script ")
    lines = python_script(file, text) if file.suffix == ".py" else json_script(file, text)
    if not lines:
        raise ConfigError(f"the script {file} has no reply", "write at least one")
    return lines


def json_script(file: Path, text: str) -> tuple[ScriptLine, ...]:
    """One object per line; empty lines are skipped."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            answer = msgspec.json.decode(line, type=ScriptLine)
        except msgspec.MsgspecError as error:
            raise ConfigError(f"{file}, line {number} is no reply: {error}", EXPECTED) from error
        if sum(part is not None for part in (answer.reply, answer.source, answer.error)) != 1:
            raise ConfigError(f"{file}, line {number} must have exactly one of reply, source and error", EXPECTED)
        found.append(answer)
    return tuple(found)


EXPECTED = 'write, for instance, {"reply": "…"} or {"source": "…", "config": {"BLOCK": 64}} or {"error": "…"}'


def python_script(file: Path, text: str) -> tuple[ScriptLine, ...]:
    """`REPLIES = ["…", …]`, literals only."""
    try:
        tree = syntax.parse(text)
    except (SyntaxError, ValueError) as error:
        raise ConfigError(f"the script {file} does not parse: {error}") from error
    for node in tree.body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["REPLIES"]:
            try:
                replies = msgspec.convert(ast.literal_eval(node.value), list[str])
            except (TypeError, ValueError, msgspec.ValidationError) as error:
                raise ConfigError(f"REPLIES of {file} is no list of texts: {error}") from error
            return tuple(ScriptLine(reply=encodable(reply)) for reply in replies)
    raise ConfigError(f"the script {file} assigns no REPLIES", 'write REPLIES = ["…", …], a list of texts')


class ScriptAdvisor(Advisor):
    """An advisor that answers with the first reply of a script. Raises `ConfigError` where the first line has no
    reply."""

    def __init__(self, file: Path) -> None:
        first = read_script(file)[0]
        if first.reply is None:
            raise ConfigError(f"the first line of the script {file} is no reply", 'write {"reply": "…"}')
        self._reply = Reply(text=first.reply, usage=first.usage, finish="stop")

    def complete(self, system: tuple[str, ...], prompt: str) -> Reply:
        return self._reply
