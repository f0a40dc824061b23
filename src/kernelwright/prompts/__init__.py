"""Prompt templates: one Markdown file per operator, with variables written as `{{name}}`.

`propose.prompt` renders them. A template contains only text that holds for every problem and device; figures are
variables. `sentences.toml` has the sentences that depend on what a problem states.
"""
