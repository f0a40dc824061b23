import torch


def inputs(problem):
    return problem.get_inputs(3, 2, 3, 70, 1.0)
