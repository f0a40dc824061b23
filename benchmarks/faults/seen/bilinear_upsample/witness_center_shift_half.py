import torch


def inputs(problem):
    return problem.get_inputs(1, 2, 400, 2, 700, False)
