import torch


def inputs(problem):
    return problem.get_inputs(3, 1500)
