import torch


def inputs(problem):
    x, b, t = problem.get_inputs(500, 1.0, 20.0)
    return [-x.abs() - 20, b, t]
