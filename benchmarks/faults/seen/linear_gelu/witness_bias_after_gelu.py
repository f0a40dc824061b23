import torch

INIT = [70, 17]

def inputs(problem):
    return problem.get_inputs(33, 70, True)
