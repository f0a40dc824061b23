import torch


def inputs(problem):
    q, k, v, t, n = problem.get_inputs(5, 2, 16, 20, 8, 5)
    n[3] = 19
    t = t.clamp(min=2)
    return [q, k, v, t, n]
