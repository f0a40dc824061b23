import torch


def inputs(problem):
    x, keep, scale = problem.get_inputs(2, 1, 2, 40, 1.5)
    return [x + 400.0, keep, scale]
