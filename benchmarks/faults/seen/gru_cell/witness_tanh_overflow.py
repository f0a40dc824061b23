import torch


def inputs(problem):
    x, g, h = problem.get_inputs(5, 50)
    return [x * 60, g, h]
