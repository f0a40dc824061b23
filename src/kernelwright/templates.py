"""Texts that come with kernelwright as files of its packages, and the Jinja templates among them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


def shipped(package: str, path: str) -> str:
    """The text of a file. package: the full name, such as "kernelwright.prompts". path: below its folder."""
    return (resources.files(package) / path).read_text(encoding="utf-8")


def rendered(package: str, template: str, /, **values: object) -> str:
    """The text of a template that writes Python, Markdown or the like. Raises `UndefinedError` for a missing value."""
    return environment(package, keep_trailing_newline=True).get_template(template).render(values)


@functools.cache
def environment(package: str, **settings: Any) -> Environment:
    """Jinja's environment for the templates of a package. settings: of Jinja, beside those of all templates."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    made = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, **settings,
                       loader=FunctionLoader(functools.partial(shipped, package)))  # fmt: skip
    made.filters["listed"] = listed
    return made


def listed(items: Sequence[str]) -> str:
    """The text of a tuple of these expressions."""
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
