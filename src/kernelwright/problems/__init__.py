"""Problems as files: found, checked, copied and begun, without importing them or torch.

    paths     an argument to the files of a problem
    lists     arguments to several problems
    sets      problems of the field's problem sets, in their own formats
    text      a problem file's text, refused at once when it cannot be a problem
    copies    a problem's files inside a run folder, so that a run can move to another machine
    template  a new problem folder to start from
    live      a problem folder from a module or a function of the caller's program
    problem   what programs hold of a problem

What a problem computes is known only to the worker, which imports it.
"""

from __future__ import annotations

from kernelwright.problems.copies import copy_problem, problem_in_run
from kernelwright.problems.lists import problems_named
from kernelwright.problems.paths import ProblemPath, find_problem, problems_in
from kernelwright.problems.template import new_problem
from kernelwright.problems.text import read_problem_text

__all__ = [
    "ProblemPath",
    "copy_problem",
    "find_problem",
    "new_problem",
    "problem_in_run",
    "problems_in",
    "problems_named",
    "read_problem_text",
]
