import torch

INIT = [30]

def inputs(problem):
    return problem.get_inputs(20, 30)
