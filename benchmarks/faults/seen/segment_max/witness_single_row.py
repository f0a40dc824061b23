import torch


def inputs(problem):
    x, o = problem.get_inputs(4, 60, 33)
    o[1:4] = torch.tensor([7, 8, 20])
    return [x, o]
