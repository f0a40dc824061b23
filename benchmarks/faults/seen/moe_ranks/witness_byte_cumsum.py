import torch


def inputs(problem):
    return problem.get_inputs(600, 2, 1000)
