import torch

INIT = [9]

def inputs(problem):
    return problem.get_inputs(150, 9)
