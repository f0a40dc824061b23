import torch


def inputs(problem):
    x, y, b, a = problem.get_inputs(33, 100, 2.0)
    return [x[:, ::2], y[:50], b[:50], a]
