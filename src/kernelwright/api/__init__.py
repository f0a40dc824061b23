"""The Python API: the jobs with their defaults, and results that a notebook can show.

    verbs     verify, check, bench, profile, export
    search    optimize, tune
    run       a run's folder, opened
    results   the jobs' records, with their text and their HTML

`kernelwright` itself offers these names; nothing here prints.
"""
