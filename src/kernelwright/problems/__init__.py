"""Problem files: finds, checks, copies and creates them without importing them or torch.

    paths     finds the files of problems from command-line arguments
    sets      reads problems of published problem sets in their formats
    text      reads a problem file's text and refuses one that cannot be a problem
    copies    copies a problem's files into a run folder, so that a run can move to another machine; creates a new one
    live      creates a problem folder from a module or a function of the caller's program
    problem   the class `Problem` of the Python API

Only the worker imports a problem.
"""

from __future__ import annotations

from kernelwright.problems.copies import copy_problem, new_problem, problem_in_run
from kernelwright.problems.paths import ProblemPath, find_problem, problems_in, problems_named
from kernelwright.problems.text import read_problem_text
