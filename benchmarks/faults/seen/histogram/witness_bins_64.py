import torch


def inputs(problem):
    return problem.get_inputs(800, 128, -4.0, 4.0)
