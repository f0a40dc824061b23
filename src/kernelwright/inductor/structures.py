"""The functions of structures in a candidate, each text once, and their tunables."""

from __future__ import annotations

import re

from kernelwright.inductor.products import EXACT, TF32X3
from kernelwright.model import Structure


class Structures:
    """Those that host functions call. The second with another text gets names of its own: `attention_2`."""

    def __init__(self) -> None:
        self._named: dict[str, tuple[str, Structure]] = {}

    def name(self, structure: Structure) -> str:
        """The name of its host function in the candidate."""
        number = 1 + sum(one.function == structure.function for _, one in self._named.values())
        name = structure.function + f"_{number}" * (number > 1)
        return self._named.setdefault(structure.source, (name, structure))[0]

    def texts(self, is_split: bool) -> list[str]:
        """is_split: whether float32 products are split."""
        texts = [_renamed(one.source, one.function, name) for name, one in self._named.values()]
        return [text.replace(EXACT, TF32X3) for text in texts] if is_split else texts

    @property
    def tunables(self) -> list[str]:
        return [
            f"{name.upper()}_{key} = {value}" for name, one in self._named.values() for key, value in one.config.items()
        ]


def _renamed(text: str, function: str, name: str) -> str:
    if name == function:
        return text
    text = re.sub(rf"\b{function}(?=_|\()", name, text)
    return re.sub(rf"\b{function.upper()}(?=_)", name.upper(), text)
