import torch


def inputs(problem):
    x, = problem.get_inputs(3, 90)
    return [x - 10]
