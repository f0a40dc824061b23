import torch


def inputs(problem):
    p, g, m, v, *r = problem.get_inputs(500, 3, 1e-2, 0.1)
    return [p, g * 300, m, v, *r]
