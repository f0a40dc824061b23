import torch


def inputs(problem):
    return problem.get_inputs(100, 4, 1000)
