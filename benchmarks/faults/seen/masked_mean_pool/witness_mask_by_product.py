import torch


def inputs(problem):
    x, n = problem.get_inputs(6, 20, 40)
    n[3] = 7
    x[3, 9] = float('nan')
    return [x, n]
