"""The texts that models are given: one Markdown template per operator, `{{name}}` standing for a variable.

No code and no logic; `propose.prompt` renders them. A template says only what holds for every problem
and every device; figures come in through variables.
"""
