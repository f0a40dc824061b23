import torch


def inputs(problem):
    return problem.get_inputs(1, 2, 5, 7, 6, 6, 4, 4)
