import torch


def inputs(problem):
    a, b, r, h = problem.get_inputs(2, 12, 8)
    r[:, 4] = True
    return [a, b, r, h]
