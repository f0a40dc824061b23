import torch


def inputs(problem):
    p, q = problem.get_inputs(4, 100)
    return [p * 0, q * 1e-9]
