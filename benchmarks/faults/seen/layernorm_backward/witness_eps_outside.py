import torch


def inputs(problem):
    x, w, dy = problem.get_inputs(8, 50)
    x[3] *= 1e-3
    return [x, w, dy]
