import torch
import torch.nn as nn

TOKENS = 512
IN_FEATURES = 4096
OUT_FEATURES = 14336
GROUP = 128

AWQ_ORDER = (0, 4, 1, 5, 2, 6, 3, 7)


def unpack_int4(packed: torch.Tensor, shifts: torch.Tensor) -> torch.Tensor:
    """int32 [r, c] -> [r, c * 8], undoing the AWQ interleave."""
    nibbles = (packed.unsqueeze(-1) >> shifts) & 0xF
    return nibbles.flatten(1)


class Model(nn.Module):
    def __init__(self, in_features: int, out_features: int, group_size: int = 128, bias: bool = True):
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.group_size = group_size
        lo, hi = -(2 ** 31), 2 ** 31
        groups = in_features // group_size
        self.register_buffer(
            "qweight", torch.randint(lo, hi, (in_features, out_features // 8), dtype=torch.int64).to(torch.int32)
        )
        self.register_buffer(
            "qzeros", torch.randint(lo, hi, (groups, out_features // 8), dtype=torch.int64).to(torch.int32)
        )
        self.register_buffer("scales", (torch.rand(groups, out_features) * 0.004 + 0.001).half())
        self.register_buffer("shifts", torch.tensor(AWQ_ORDER, dtype=torch.int32) * 4)
        self.register_buffer("bias", (torch.randn(out_features) * 0.1).half() if bias else None)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        w = unpack_int4(self.qweight, self.shifts)
        z = unpack_int4(self.qzeros, self.shifts)
        z = z.repeat_interleave(self.group_size, dim=0)
        s = self.scales.repeat_interleave(self.group_size, dim=0)
        w = (w - z).to(s.dtype) * s
        y = torch.matmul(x, w)
        if self.bias is not None:
            y = y + self.bias
        return y


def get_inputs():
    return [torch.randn(TOKENS, IN_FEATURES).half()]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, GROUP]
