import torch


def inputs(problem):
    return problem.get_inputs(1, 3, 2, 11, 1, 3, 1, 1, 2, 1)
