import torch


def inputs(problem):
    x, keep, scale = problem.get_inputs(2, 1, 2, 40, 1.0)
    keep[:] = True
    keep[0, 3] = False
    x[0, :, :, 3] = 500.0
    return [x, keep, scale]
