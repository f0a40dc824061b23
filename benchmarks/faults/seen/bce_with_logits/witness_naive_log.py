import torch


def inputs(problem):
    x, t, p, w = problem.get_inputs(8, 16)
    return [x - 100.0, t, p, w]
