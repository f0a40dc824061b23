import torch


def inputs(problem):
    x, y, b, a = problem.get_inputs(33, 50, 2.0)
    return [torch.randn(50, 33).t(), y, b, a]
