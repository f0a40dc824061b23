import torch


def inputs(problem):
    b, i, s, a = problem.get_inputs(20, 30, 33, 1.0)
    i[3] = i[7]
    return [b, i, s, a]
