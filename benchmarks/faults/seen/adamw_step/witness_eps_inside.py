import torch


def inputs(problem):
    p, g, m, v, *r = problem.get_inputs(500, 3, 1e-2, 0.1)
    return [p, g * 1e-4, m * 1e-4, v * 1e-8, *r]
