import torch


def inputs(problem):
    p, g, m, *r = problem.get_inputs(400, 0.125, 0.0)
    return [p, g * 1e-7, m * 1e-7, *r]
