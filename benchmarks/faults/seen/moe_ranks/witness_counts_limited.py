import torch


def inputs(problem):
    return problem.get_inputs(200, 4, 20)
