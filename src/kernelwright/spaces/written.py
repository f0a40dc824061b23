"""Makes the candidate for a config of a stated space.

`tunables` offers a few choices around the written value; a stated space may have values beyond them. Such values are
written into the source, of which only the numbers of tunables change. Other configs leave the source unchanged.
"""

from __future__ import annotations

from kernelwright.errors import ConfigError
from kernelwright.model import Candidate
from kernelwright.source import apply_config, find_tunables
from kernelwright.spaces.space import Config


def candidate_for(source: str, config: Config) -> Candidate:
    """The candidate that runs `source` with `config`.

    Raises `ConfigError` for a key that the source does not have, and for a value that cannot be written.
    """
    tunables = {tunable.key: tunable for tunable in find_tunables(source)}
    beyond = [name for name, value in config.items() if name in tunables and value not in tunables[name].choices]
    if not beyond:
        apply_config(source, config)
        return Candidate(source=source, config=config)
    for name in beyond:
        source = rewritten(source, name, config[name])
    return Candidate(source=source, config={name: value for name, value in config.items() if name not in beyond})


def rewritten(source: str, name: str, value: int) -> str:
    """`source` with the value of the tunable `name` replaced by `value`, in steps of which each is one of the choices
    at that point."""
    while (tunable := next(found for found in find_tunables(source) if found.key == name)).default != value:
        step = min(tunable.choices, key=lambda choice: abs(choice - value))
        if step == tunable.default:
            raise ConfigError(f"{name} cannot be {value} in this source: nearest is {step} of {tunable.choices}")
        source = apply_config(source, {name: step})
    return source
