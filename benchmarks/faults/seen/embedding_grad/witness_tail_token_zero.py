import torch


def inputs(problem):
    return problem.get_inputs(9, 70, 20, 5)
