"""Kernels that other programs found, read as seeds: untrusted, to be judged and timed here like any other candidate.

    table         which reader takes which file or folder
    seed          what a reader gives: a candidate, and what the source claimed of it
    remeasured    the claims beside what was found here

One file per source: kernelagent, openevolve, history, python_file.
"""
