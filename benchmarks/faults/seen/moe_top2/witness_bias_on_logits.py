import torch


def inputs(problem):
    return problem.get_inputs(30, 60)
