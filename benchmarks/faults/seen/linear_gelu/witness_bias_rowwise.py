import torch

INIT = [50, 40]

def inputs(problem):
    return problem.get_inputs(40, 50, False)
