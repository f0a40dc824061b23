import torch


def inputs(problem):
    x, b = problem.get_inputs(20, 7)
    return [x, b - 2]
