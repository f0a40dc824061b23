import torch


def inputs(problem):
    return problem.get_inputs(6, 20, 40)
