import torch


def inputs(problem):
    return problem.get_inputs(3, 20, 9, 4, False)
