"""Stages of an evaluation, a benchmark and a qualification: the checks of a candidate and their order."""
