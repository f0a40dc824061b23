import torch


def inputs(problem):
    x, = problem.get_inputs(2, 40, 11)
    return [x - 30]
