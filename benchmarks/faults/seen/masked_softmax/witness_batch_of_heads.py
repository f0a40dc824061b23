import torch


def inputs(problem):
    x, keep, scale = problem.get_inputs(3, 2, 3, 70, 1.0)
    return [x, keep, scale]
