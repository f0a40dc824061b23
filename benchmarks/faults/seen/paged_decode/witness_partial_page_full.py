import torch


def inputs(problem):
    q, k, v, t, n = problem.get_inputs(5, 2, 16, 20, 8, 5)
    n[3] = 11
    t[3] = 3
    return [q, k, v, t, n]
