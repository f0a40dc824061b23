import torch


def inputs(problem):
    x, b, t = problem.get_inputs(500, 1.0, 20.0)
    return [x * 50, b, t]
