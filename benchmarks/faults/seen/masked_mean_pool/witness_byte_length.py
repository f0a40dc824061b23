import torch


def inputs(problem):
    x, n = problem.get_inputs(3, 300, 8)
    n[2] = 200
    return [x, n]
