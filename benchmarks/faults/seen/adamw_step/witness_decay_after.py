import torch


def inputs(problem):
    return problem.get_inputs(500, 1, 0.1, 0.5)
