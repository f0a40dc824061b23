import torch


def inputs(problem):
    return problem.get_inputs(2, 20, 1, 4, False)
