import torch


def inputs(problem):
    x, t, p, w = problem.get_inputs(8, 16)
    return [x * 40, t, p, w]
