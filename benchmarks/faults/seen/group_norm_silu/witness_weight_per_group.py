import torch

INIT = [3, 12]

def inputs(problem):
    return problem.get_inputs(2, 12, 35)
