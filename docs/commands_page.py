"""docs/commands.md, made from the commands themselves: `python docs/commands_page.py > docs/commands.md`.

It adds no help text: every sentence about an option comes from the option. A test compares the page with what this
prints.
"""

from __future__ import annotations

import inspect

import click

from kernelwright.cli.main import VERBS, cli

PREAMBLE = """\
# Commands

Made from the commands themselves (`make docs`); `kernelwright VERB --help` says the same.

Exit status: 0 done and good (for `optimize`, "no improvement" and "waiting for replies" too); 1 the answer is no: a
candidate is wrong, rejected or failed, or no kernel passed; 2 the request or the machine is at fault, said in one line
on standard error; 130 interrupted.

The shell completes verbs, options, problems of the gallery and runs in `./runs` after one line in its start file:
`eval "$(_KERNELWRIGHT_COMPLETE=bash_source kernelwright)"` for bash, `zsh_source` in its place for zsh, and
`_KERNELWRIGHT_COMPLETE=fish_source kernelwright | source` for fish.

With `--json` standard output holds one JSON document and nothing else, unless the status is 2 or 130: then it may be
empty. Times are microseconds and end in `_us`; each says whether it was measured or is an estimate (`kind`,
`timing_kind`). Absent values are null.

What each document has at least:

- `check --json`: `problem`, `qualifies`, `reason`, `cases` (each `case`, `answers`, `ignored`, `constant`; an answer
  has `name`, `accepted`, its errors and what is allowed, `margin`, `allclose_from`), `not_judged`, `bounds` (each
  `case`, `bound`, `reads`, `assumed`, `eager_us`, `eager_below_bound`), `stated` (what a problem set says:
  `set`, `name`, `facts`, tolerances in `cases`), `environment`.
- `model --json`: `survey` (`parts`, each with its `cases`, and `baselines`), `times` (each `name`, `places`, `time_us`,
  `bound_us`, `share`, `gain_at_bound`, `gain_at_90`), `kind`, `total_us`, `gain_at_bound`, `gain_at_90`, `weights`,
  `checks` (why a problem does not qualify, by name), `folder`, `environment`.
- `verify --json`: `status`, `reason`, `results` (each `case`, `status`, `reason`, `max_abs_error`, `max_rel_error`,
  `allowed_rel_error`, `element_error`, `allowed_element_error`, `below_bound`), `verified_on`, `confinement`,
  `kernels`, `environment`; a list of these for several candidates.
- `bench --json [FILE]`: `schema_version`, `problem`, `environment`, `command`, `cases` (each `case`, `held_out`,
  `bound_us`, `bound_by`, `bound_kind`, `implementations`, `order_seed`, `exchanged_after`, `noise_floor`,
  `noise_floor_source`). An implementation has `name`, `status`, `kind`, `median_us`, `ci95_us`, `call_us`, `speedup`
  (against the best of the framework's own), `speedup_ci95`, `verdict`, `throttled`, `fraction_of_bound`, `below_bound`.
  `candidates` has the text behind each row. For a folder of problems: `schema_version`, `reports` (one such document
  each), `failures`, `command`.
- `bench --against FILE --json`: `schema_version`, `problem`, `candidate`, `baseline`, `recorded_on`, `max_slowdown`,
  `environment`, `cases` (each `case`, `outcome`: `within`, `slower`, `failed` or `not measured`; `reason`,
  `baseline_us`, `candidate_us`, `slowdown`, `slowdown_ci95`).
- `profile --json`: `schema_version`, `problem`, `environment`, `failure` (of the candidate, else null), `profiles` (each `name`, `case`, `bound`, `timing`,
  `gap`, `fraction_of_bound`, `flop_per_byte`, `diagnosis`, `profile`; a counter has `name`, `value`, `unit`, `tool`).
- `optimize --json` and `report --format json`: `schema_version`, `run`, `problem`, `settings`, `best`, `leader`,
  `starter`, `convergence`, `trials_by_status`, `open`, `stopped`, `usage`, `seconds`, `environment`; `optimize` adds
  `reason` and `detail`. For several problems: `schema_version`, `folder`, `reason`, `detail`, `problems` (each `name`,
  `state`, `library`, `time_us`, `kind`, `against`, `share`, `trials`, `seconds`, `usd`, `reason`), `totals`.
- `tune --json`: `schema_version`, `problem`, `kind` (`measured`, `estimate` or `replayed`), `device`, `environment`,
  `settings`, `space`, `joint` and `cases` (each `name`, `config`, `time_us`, `default_us`, `ratio`, `why`,
  `confirmed`), `cost_of_one`, `finals`, `refused`, `learning_curve`, `failures`, `tried`, `stopped`, `seconds`. While it
  waits for an advisor's answer: `waits_in`, the folder.
- `show --json`: the trials, or the one that was named, as the journal has them, with `confirmation`.
- `compare --json`: `schema_version`, `first` and `second` (each `run`, `problem`, `device`, `best`, `confirmed`,
  `is_starter`, `time_us`, `kind`, `speedup`, `fraction_of_bound`, `to_best_s`, `seconds`, `tokens`, `cost_usd`),
  `not_comparable`, `ratio`, `overlap`, `cases` (each `case`, `first_us`, `second_us`, `ratio`).
- `export --json`: `folder`, `format`, `files`, `check` (whether a package passed its own, null for other formats);
  for a candidate that is not right `folder` is null and `reason` says why.
- `recheck --json`: `schema_version`, `package`, `right`, `faster` (null where it was not timed), `changed` (each
  `what`, `then`, `now`), `edited`, `timed` (each `case`, `regime`, `use`, `used`, `then`, `now`, `faster`), `unjudged`,
  `evaluation`.
- `import --json`: `schema_version`, `problem`, `importer`, `source`, `environment`, `starter`, `seeds` (each `seed`
  with `name`, `origin`, `candidate`, `recorded_us`, `recorded`; and `evaluation`), `left`, `useless`, `best`.
- `gallery --json`: a list, each `name`, `file`, `computes`, `best`, `cases`, `ratio`, `autotuned_ratio`, `share`,
  `library`, `runs`; figures are null where nothing was recorded.
- `runs --json`: a list, each `run`, `problem`, `created`, `search`, `trials`, `best`, `state`.
- `doctor --json`: `environment`, `machine` (`gpu`, `nvml`, `profiler`, `measures`, `attempts` of an intruder),
  `canaries` (each with `what`, `expected`, `got`, `good`), `providers`.
"""


def commands_page() -> str:
    """The whole page."""
    context = click.Context(cli, info_name="kernelwright")
    sections = []
    for name in VERBS:
        command = cli.get_command(context, name)
        assert command is not None
        sections.append(_section(name, command, context))
    return "\n".join([PREAMBLE, *sections])


def _section(name: str, command: click.Command, parent: click.Context) -> str:
    context = click.Context(command, info_name=name, parent=parent)
    usage = " ".join(["kernelwright", name, *command.collect_usage_pieces(context)])
    lines = [f"## {name}", "", f"    {usage}", "", inspect.cleandoc(command.help or ""), ""]
    options = [option for option in command.params if isinstance(option, click.Option)]
    if options:
        lines += ["| option | does |", "|---|---|", *(_row(option, context) for option in options), ""]
    return "\n".join(lines)


def _row(option: click.Option, context: click.Context) -> str:
    value = "" if option.is_flag else f" {option.metavar or option.type.name.upper().replace(' RANGE', '')}"
    if isinstance(option.type, click.Choice):
        value = " " + "/".join(map(str, option.type.choices))
    default = f" Default: `{option.default}`." if option.show_default else ""
    return f"| `{option.opts[0]}{value}` | {option.help}{default} |".replace("KEY=VALUE|FILE", "KEY=VALUE or FILE")


if __name__ == "__main__":
    click.echo(commands_page(), nl=False)
