import torch


def inputs(problem):
    return problem.get_inputs(5, 2, 16, 20, 8, 5)
