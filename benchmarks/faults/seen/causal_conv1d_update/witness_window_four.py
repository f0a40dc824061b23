import torch


def inputs(problem):
    return problem.get_inputs(2, 17, 5, 3, True)
