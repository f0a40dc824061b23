import torch


def inputs(problem):
    a = problem.get_inputs(40, 50, 12)
    b = problem.get_inputs(40, 50, 12)
    return a, b
