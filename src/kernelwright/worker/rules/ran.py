"""What is left of a source after a recording: the text without what did not run. Pure syntax.

Code that did not run becomes a refusal, and is named. Of statements of the module, a `try` whose import failed and a
condition give way to what ran, because kernels and their imports have to stand at the top level. A condition stays if
it breaks a rule, or names what comes from something that does: it could ask for the time. The recording is not trusted:
what is left is checked, recorded and judged like any other source.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from kernelwright.source import parse as syntax
from kernelwright.source.bindings import FUNCTIONS, bindings, names_in
from kernelwright.source.branches import NOT_JUDGED, runs_as_script, without_untaken
from kernelwright.source.edits import Edit, block, edited
from kernelwright.source.kernels import in_kernels
from kernelwright.worker.rules import static
from kernelwright.worker.rules.imports import Finding
from kernelwright.worker.rules.questions import questions


def what_ran(source: str, taken: Collection[int]) -> tuple[str, tuple[str, ...]]:
    """`source` without what did not run, and "line N: condition" for each part that is left out. taken: the numbers of
    branches that ran."""
    text, conditions = without_untaken(source, taken, at_import=True)
    text, more = at_top_level(text)
    return text, conditions + more


def harmful(source: str) -> list[Finding]:
    """What breaks a rule in a source whose judged text lacks it, so that the source itself was not judged. Imports,
    handlers at module level and questions about the machine are harmless: nothing of them would run in a call."""
    tree = syntax.parse(source)
    guards = [Finding(one.lineno, "refuses by what breaks a rule") for one, left in _refusals(source) if left == "pass"]
    asked = edited(source, [Edit(one, one, "0") for one in questions(tree)])
    inside = {line for top in tree.body if isinstance(top, (*FUNCTIONS, ast.ClassDef))
              for line in range(top.lineno, (top.end_lineno or top.lineno) + 1)}  # fmt: skip
    return guards + [
        one for one in static.check(asked) if not one.rule.startswith("imports ")
        and not (one.rule.startswith("catches ") and one.line not in inside)
    ]  # fmt: skip


def _refusals(source: str) -> Iterator[tuple[ast.stmt, str]]:
    """The statements of host code that only refuse, and whose test or message breaks a rule; with what is left of each:
    of those with such a test nothing."""
    tree = syntax.parse(source)
    doubts, inside = _Doubts(source), in_kernels(tree)
    for node in (one for one in ast.walk(tree) if id(one) not in inside):
        match node:
            case ast.Assert(test=test, msg=ast.expr()) if doubts.about(node):
                yield node, f"assert {ast.unparse(test)}"
            case ast.Assert(test=test) | ast.If(test=test, body=[ast.Raise()], orelse=[]) if (
                doubts.about(test) and NOT_JUDGED not in ast.unparse(node) and not list(bindings(test))
            ):
                yield node, "pass"
            case _:
                pass


def at_top_level(source: str) -> tuple[str, tuple[str, ...]]:
    """`source`, in which what did not run refuses, with what ran in place of conditions and of `try` at module level,
    and without refusals that did not come and could not be judged; and the negated conditions of those without an
    `else`."""
    for _ in ("messages", "tests"):
        source = edited(source, [Edit(node, node, left) for node, left in _refusals(source)])
    conditions: tuple[str, ...] = ()
    while True:
        tree = syntax.parse(source)
        doubts = _Doubts(source)
        edits = []
        for node in tree.body:
            left = _left([node], doubts)
            if left != [node]:
                edits.append(Edit(node, node, block(left)))
                if isinstance(node, ast.If) and not node.orelse and left:
                    conditions += (f"line {node.lineno}: not ({ast.unparse(node.test)})",)
        if not edits:
            return source, conditions
        source = edited(source, edits)


class _Doubts:
    """What of a module breaks a rule, and the names that come from there."""

    def __init__(self, source: str) -> None:
        self.lines, self.names = {finding.line for finding in static.check(source)}, set[str]()
        left = list(_simple(syntax.parse(source)))
        while found := [one for one in left if self.about(one)]:
            left = [one for one in left if one not in found]
            self.names |= {binding.name for one in found for binding in bindings(one)}

    def about(self, node: ast.stmt | ast.expr) -> bool:
        inside = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        return not self.lines.isdisjoint(inside) or not self.names.isdisjoint(names_in(node))


def _simple(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements that run at import and hold no others, and the functions and classes."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt) and (
            isinstance(child, (*FUNCTIONS, ast.ClassDef)) or not hasattr(child, "body")
        ):
            yield child
        else:
            yield from _simple(child)


def _left(body: list[ast.stmt], doubts: _Doubts) -> list[ast.stmt]:
    """The statements with what ran in place of conditions and of `try`."""
    left: list[ast.stmt] = []
    for node in body:
        match node:
            case ast.If(test=test) if not (runs_as_script(node) or doubts.about(test)):
                sides = [side for side in (node.body, node.orelse) if side and not _refuses(side)]
                left += _left(sides[0], doubts) if len(sides) == 1 else [node] if sides or node.orelse else []
            case ast.Try(body=tried, handlers=handlers, orelse=orelse, finalbody=[]) if all(map(_is_plain, handlers)):
                caught = [one for one in handlers if not _refuses(one.body)]
                ran = next((number for number, one in enumerate(tried) if _refuses([one])), len(tried))
                if not caught:
                    left += _left([*tried, *orelse], doubts)
                elif len(caught) == 1 and _only_looks(tried[ran - 1]):
                    left += _left([*tried[: ran - 1], *_handled(caught[0])], doubts)
                else:
                    left.append(node)
            case _:
                left.append(node)
    return left


def _is_plain(handler: ast.ExceptHandler) -> bool:
    """Whether the exceptions of a handler are only named."""
    parts = ast.walk(handler.type) if handler.type is not None else ()
    return all(isinstance(one, ast.Name | ast.Attribute | ast.Tuple | ast.Load) for one in parts)


def _refuses(body: list[ast.stmt]) -> bool:
    return isinstance(body[0], ast.Raise)


def _only_looks(node: ast.stmt) -> bool:
    """Whether a statement that fails does nothing: it imports, or reads an attribute."""
    return isinstance(node, ast.Import | ast.ImportFrom) or (
        isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute)
    )


def _handled(handler: ast.ExceptHandler) -> list[ast.stmt]:
    """The statements of a handler, after its name is bound if they use it."""
    if handler.name is None or not any(handler.name in names_in(one) for one in handler.body):
        return handler.body
    return [*ast.parse(f"{handler.name} = ImportError()").body, *handler.body]
