"""The Python API: functions for the jobs, and results that a notebook can show.

    verbs     verify, verify_all, check, bench, profile, export
    search    optimize, optimize_all, tune
    keywords  the keyword arguments that they share
    model     Model, a whole model and the survey of it
    run       open_run, which reads a run's folder
    results   the jobs' records, with text and HTML

The package `kernelwright` exports these functions. Nothing here prints.
"""
