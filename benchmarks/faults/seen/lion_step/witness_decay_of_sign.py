import torch


def inputs(problem):
    return problem.get_inputs(400, 0.5, 0.5)
