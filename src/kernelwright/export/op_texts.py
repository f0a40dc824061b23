"""Texts of the modules that are generated for each exported package, from the templates in `package/`.

The checks of a call are written out for each argument, because a loop over arguments costs as much as the lookup. The
package's benchmark includes that cost.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict

from kernelwright.codec import encode
from kernelwright.export.op_arguments import Arguments, called
from kernelwright.export.pair_arguments import Pair
from kernelwright.export.subject import Subject
from kernelwright.report.evaluation import constant_texts, library_text, serves_texts, unqualified_text
from kernelwright.templates import rendered
from kernelwright.text.escape import in_code

MODE_WORDS = re.compile(r"training|dropout|batch_?norm|instance_?norm|rrelu|alpha_dropout", re.IGNORECASE)
"""Words for modules that behave differently in training. If the problem's text has one, the kernel is used in eval()
only; also if a parameter was found dead, because it may have an effect in training."""

LIVE = "def call_of("
"""In a problem that was written from a live module, of which it does not have the text."""


def arguments_text(subject: Subject, arguments: Arguments, pair: Pair | None = None) -> str:
    """The text of arguments.py: names, the operator's schema, and the candidate's calls. subject: of the forward alone,
    also of a candidate with a backward, whose operator returns more than the forward."""
    entries = [
        f"{kind}(a{place}!) {name}" if place in arguments.mutates else f"{kind} {name}"
        for place, (kind, name) in enumerate(zip(arguments.kinds, arguments.names, strict=True))
    ]
    has_parameters, single = bool(arguments.parameters), len(arguments.fresh) == 1
    entries += ["Tensor[] parameters"] * has_parameters + ["str init"] * arguments.has_init
    several = "Tensor[]" if arguments.fresh or pair is not None else "()"
    return rendered(
        "kernelwright.export",
        "package/arguments.py.j2",
        **asdict(arguments) | {"tensors": tuple(kind == "Tensor" for kind in arguments.kinds)},
        title=subject.title,
        package=subject.package,
        name=subject.name,
        entries=entries,
        result="Tensor" if single and pair is None else several,
        pair=pair,
        autotune=subject.autotune,
        only_measured=any(one.name == "sized" and one.shown_by == "wrong" for one in subject.evaluation.serves),
        local=arguments.local,
        taken=[*arguments.local, *["parameters"] * has_parameters, *["init"] * arguments.has_init],
        packed=["*inputs", *["list(parameters)"] * has_parameters, *["init_text"] * arguments.has_init],
        called=called(subject, arguments),
    )


def forward_text(subject: Subject, arguments: Arguments, has_backward: bool) -> str:
    """The text of forward.py. subject: of the forward alone, also of a candidate with a backward. There a call that
    requires all judged gradients uses the operator, whose derivative is `kernel_backward`; one that requires some of
    them uses PyTorch."""
    names, tensors, has_parameters = arguments.local, arguments.tensors, bool(arguments.parameters)
    changed = [names[place] for place in arguments.mutates]
    found_in = ["found_in"] * has_parameters
    imported = ["calm", *found_in, "static", "usable", "wins_compiled"]
    if has_backward:
        imported = ["calm", "fits", *found_in, "static", "transformed", "wants_gradients", "wins_compiled"]
    elif changed:
        imported = ["apart", "calm", "usable"]
    # Whatever decides whether the kernel is faster; graphs have the parameters' dtypes, too.
    properties = [f"{name}.shape, {name}.dtype, {name}.get_device()" if name in tensors else f"type({name}), {name}"
                  for name in names]  # fmt: skip
    constants = [f"{name}.shape, {name}.dtype" if name in tensors else name for name in names]
    constants += ["*[tensor.dtype for tensor in parameters]"] * has_parameters
    usable = [f"{'fits' if has_backward else 'usable'}({name})" for name in tensors]
    return rendered(
        "kernelwright.export",
        "package/forward.py.j2",
        title=subject.title,
        backward=has_backward,
        mutates=bool(changed),
        names=arguments.names,
        local=names,
        given=", ".join(names),
        renamed={one: other for one, other in zip(names, arguments.names, strict=True) if one != other},
        tensors=tensors,
        changed=changed,
        others=[name for name in tensors if name not in changed],
        has_parameters=has_parameters,
        parameters="parameters" if has_parameters or has_backward else "()",
        imported=", ".join(imported),
        kernels="the kernels where they win" if has_backward else "the kernel where it wins",
        eval_only="not self.training and " if has_modes(subject) else "",
        key="key" if has_backward else f"key_of({', '.join(names)})",
        properties=", ".join(properties),
        constants=", ".join(constants),
        scalars="".join(f"type({name}) in SCALARS and " for name in names if name not in tensors),
        are_tensors=" and ".join(f"isinstance({name}, Tensor) and static({name})" for name in tensors),
        usable=" and ".join([*usable, "calm()", *["not transformed()"] * has_backward]),
        operands=", ".join(
            [*names, *["list(parameters)"] * has_parameters, *["self.fast_state.init_text"] * arguments.has_init]
        ),
    )


def has_modes(subject: Subject) -> bool:
    """Whether the module may behave differently in training."""
    text = subject.problem_text
    return bool(MODE_WORDS.search(text) or subject.evaluation.dead or LIVE in text)


def init_text(subject: Subject, arguments: Arguments) -> str:
    """The text of the package's __init__.py."""
    init = [repr(value) for value in subject.problem.cases[0].init]
    functions = {subject.name: init, f"{subject.name}_in_graphs": [*init, "graphs=True"]}
    functions = functions if has_function(subject, arguments) else {}
    return rendered(
        "kernelwright.export",
        "package/init.py.j2",
        title=subject.title,
        maker=subject.maker,
        library=in_code(sentence(library_text(subject.evaluation))),
        functions=functions,
        exported=json.dumps(sorted(["Module", "explain", "patch", "unpatch", "warm", *functions])),
    )


def has_function(subject: Subject, arguments: Arguments) -> bool:
    """Whether one function can replace the problem's module: it has no parameters, and all cases construct it with the
    same arguments."""
    return not arguments.parameters and len({encode(info.init) for info in subject.problem.cases}) == 1


def sentence(line: str) -> str:
    return f"{line[0].upper()}{line[1:]}."


def readme_text(subject: Subject, arguments: Arguments, pair: Pair | None = None) -> str:
    """The text of README.md. Its remarks are on inputs that the kernel does not support, and on its library steps."""
    package, evaluation, names = subject.package, subject.evaluation, ", ".join(arguments.names)
    where = subject.environment.device or "no GPU (Triton's CPU interpreter, small cases only)"
    remarks = [f"The kernel {line}." for line in serves_texts(evaluation)] + [sentence(library_text(evaluation))]
    remarks += [unqualified_text(evaluation.unqualified)] if evaluation.unqualified else []
    used = f"from {package} import {subject.name}\n\ny = {subject.name}({names})\n"
    in_graphs = f"{package}.{subject.name}_in_graphs({names})"
    if not has_function(subject, arguments):
        comment = "used, saved and loaded like the problem's Model"
        used = f"from {package} import Module\n\nm = Module({', '.join(arguments.init)})  # {comment}\ny = m({names})\n"
        in_graphs = f"Module({', '.join([*arguments.init, 'graphs=True'])})"
    known = {}
    if pair is not None:
        known = dict(zip((*arguments.names, *arguments.parameters), pair.differentiated, strict=True))
    return rendered(
        "kernelwright.export",
        "package/README.md.j2",
        package=package,
        title=subject.title,
        maker=subject.maker,
        name=subject.name,
        verified={"device": f"on {where}", "interpreter": f"on {where}", None: "nowhere"}[evaluation.verified_on],
        remarks=[*remarks, *map(sentence, constant_texts(evaluation.constant))],
        changed=", ".join(arguments.names[place] for place in arguments.mutates),
        unmeasured=subject.results is None and not subject.measures,
        used=used,
        in_graphs=in_graphs,
        differentiated=", ".join(name for name, has_one in known.items() if has_one),
        sizes=subject.problem.cases[0].case.params,
    )
