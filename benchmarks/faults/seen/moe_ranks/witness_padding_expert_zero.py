import torch


def inputs(problem):
    return problem.get_inputs(70, 3, 1000)
