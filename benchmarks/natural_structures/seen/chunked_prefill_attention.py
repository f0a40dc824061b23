"""A chunk of 512 prompt tokens after 3584 cached ones, Llama-3.2-3B: 24 heads, 8 kv heads, head size 128."""
import torch
import torch.nn as nn

CHUNK = 512
PAST = 3584
NH = 24
NKV = 8
HD = 128


class Model(nn.Module):
    """Attention for a single request; new keys and values are appended to the cached ones."""

    def __init__(self, nh, nkv, hd):
        super().__init__()
        self.nh, self.nkv, self.hd = nh, nkv, hd

    def forward(self, q, k_new, v_new, k_past, v_past):
        k = torch.cat((k_past, k_new), dim=0).transpose(0, 1)
        v = torch.cat((v_past, v_new), dim=0).transpose(0, 1)
        rows, cols = q.shape[0], k.shape[1]
        q = q.view(rows, self.nkv, self.nh // self.nkv, self.hd).permute(1, 2, 0, 3)
        q = q.reshape(self.nkv, -1, self.hd)
        att = torch.bmm(q, k.transpose(1, 2)).view(self.nkv, -1, rows, cols)
        att = att / self.hd**0.5
        row_pos = torch.arange(rows, device=q.device) + (cols - rows)
        col_pos = torch.arange(cols, device=q.device)
        att = att.masked_fill(col_pos[None, :] > row_pos[:, None], float("-inf"))
        att = torch.softmax(att, dim=-1, dtype=torch.float32).to(v.dtype)
        y = torch.bmm(att.view(self.nkv, -1, cols), v)
        y = y.view(self.nkv, -1, rows, self.hd).permute(2, 0, 1, 3)
        return y.reshape(rows, self.nh * self.hd)


def get_inputs():
    q = (torch.randn(CHUNK, NH * HD) * 3.5).half()
    k_new, v_new = torch.randn(CHUNK, NKV, HD).half(), torch.randn(CHUNK, NKV, HD).half()
    k_past, v_past = torch.randn(PAST, NKV, HD).half(), torch.randn(PAST, NKV, HD).half()
    return [q, k_new, v_new, k_past, v_past]


def get_init_inputs():
    return [NH, NKV, HD]
