import torch


def inputs(problem):
    return problem.get_inputs(500, 1, 1e-2, 0.1)
