"""Any inputs, on a GPU enough of them that many programs run at the same time.

A program reads rows behind its own, so in the interpreter's order, from the first program to the last, the result is
right on a CPU. In the reversed order, which a GPU may choose as well, it is wrong.
"""

import torch

REVERSED = True
REPEATS = 5


def get_inputs(device):
    tokens, channels = (8192, 2048) if device == "cuda" else (11, 40)
    return [
        torch.randn(tokens, channels, device=device),
        torch.randn(tokens, channels, device=device),
        torch.randn(4, channels, device=device),
    ]
