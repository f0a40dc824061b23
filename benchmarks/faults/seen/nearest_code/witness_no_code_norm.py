import torch


def inputs(problem):
    return problem.get_inputs(40, 50, 12)
