import torch


def inputs(problem):
    x, n = problem.get_inputs(6, 20, 40)
    n[2] = 5
    return [x - 5, n]
