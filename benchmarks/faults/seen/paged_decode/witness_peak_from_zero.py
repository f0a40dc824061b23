import torch


def inputs(problem):
    q, k, v, t, n = problem.get_inputs(5, 2, 16, 20, 8, 5)
    q = q.abs() + 5
    k = -(k.abs() + 20)
    return [q, k, v, t, n]
