import torch

INIT = [50, 40]

def inputs(problem):
    x, a = problem.get_inputs(20, 50, False)
    return [x * 2, a]
