import torch


def inputs(problem):
    return problem.get_inputs(800, 16, -2.0, 2.0)
