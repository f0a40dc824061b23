"""Names of `context`, for the verbs that still import them from here."""

from kernelwright.cli.context import Parts, pass_parts, target_option

__all__ = ["Parts", "pass_parts", "target_option"]
