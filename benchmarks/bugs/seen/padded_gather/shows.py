"""Rows from 524288 on, of 4096 columns.

x lies behind as many elements that nothing reads, so the offset that overflows still names memory of this process. On a
CPU nearly all of the 8.6 GB stay untouched.
"""

import torch

ROWS, COLUMNS = 524_288 + 64, 4096
GIVEN_DTYPE = True


def get_inputs(device):
    x = torch.empty(2 * ROWS, COLUMNS, dtype=torch.float16, device=device)[ROWS:]
    order = torch.tensor([3, 524_287, 524_288, 524_300, 524_351], dtype=torch.int32, device=device)
    x[order] = torch.randn(len(order), COLUMNS, device=device).half()
    return [x, order]
