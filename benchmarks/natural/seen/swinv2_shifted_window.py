import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Swin V2 shifted-window cosine attention on a detection feature map that needs padding."""

    def __init__(self, dim, heads, window, shift):
        super().__init__()
        self.heads, self.window, self.shift = heads, window, shift
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.q_bias = nn.Parameter(torch.zeros(dim))
        self.v_bias = nn.Parameter(torch.zeros(dim))
        self.proj = nn.Linear(dim, dim)
        self.norm = nn.LayerNorm(dim)
        self.logit_scale = nn.Parameter(torch.log(10 * torch.ones(heads, 1, 1)))
        self.cpb = nn.Sequential(nn.Linear(2, 512), nn.ReLU(inplace=True), nn.Linear(512, heads, bias=False))
        r = torch.arange(-(window - 1), window, dtype=torch.float32)
        table = torch.stack(torch.meshgrid(r, r, indexing="ij"), -1) / (window - 1) * 8
        table = torch.sign(table) * torch.log2(table.abs() + 1) / math.log2(8)
        self.register_buffer("coords_table", table)
        c = torch.stack(torch.meshgrid(torch.arange(window), torch.arange(window), indexing="ij")).flatten(1)
        rel = (c[:, :, None] - c[:, None, :]) + window - 1
        self.register_buffer("rel_index", rel[0] * (2 * window - 1) + rel[1])

    def windows(self, x):
        B, H, W, C = x.shape
        w = self.window
        x = x.view(B, H // w, w, W // w, w, C).permute(0, 1, 3, 2, 4, 5)
        return x.reshape(B, (H // w) * (W // w), w * w, C)

    def forward(self, x):
        B, H, W, C = x.shape
        w, s, nh = self.window, self.shift, self.heads
        ph, pw = (-H) % w, (-W) % w
        y = F.pad(x, (0, 0, 0, pw, 0, ph))
        Hp, Wp = H + ph, W + pw
        y = self.windows(torch.roll(y, (-s, -s), (1, 2)))
        nW, N = y.shape[1], w * w

        # region ids: windows that wrap around must not mix
        hid = (torch.arange(Hp, device=x.device) >= Hp - w).int() + (torch.arange(Hp, device=x.device) >= Hp - s).int()
        wid = (torch.arange(Wp, device=x.device) >= Wp - w).int() + (torch.arange(Wp, device=x.device) >= Wp - s).int()
        region = self.windows((hid[:, None] * 3 + wid[None, :])[None, :, :, None]).view(nW, N)
        mask = (region[:, None, :] != region[:, :, None]).float() * -100.0

        bias = torch.cat([self.q_bias, torch.zeros_like(self.v_bias), self.v_bias])
        qkv = F.linear(y, self.qkv.weight, bias).view(B, nW, N, 3, nh, C // nh).permute(3, 0, 1, 4, 2, 5)
        q, k, v = qkv[0], qkv[1], qkv[2]
        attn = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)
        attn = attn * torch.clamp(self.logit_scale, max=math.log(100.0)).exp()
        rpb = self.cpb(self.coords_table).view(-1, nh)[self.rel_index.view(-1)].view(N, N, nh)
        attn = attn + 16 * torch.sigmoid(rpb.permute(2, 0, 1)) + mask[None, :, None]
        out = (attn.softmax(-1) @ v).transpose(2, 3).reshape(B, nW, N, C)
        out = self.proj(out)

        out = out.view(B, Hp // w, Wp // w, w, w, C).permute(0, 1, 3, 2, 4, 5).reshape(B, Hp, Wp, C)
        out = torch.roll(out, (s, s), (1, 2))[:, :H, :W]
        return x + self.norm(out)


batch = 8
height = 50
width = 76
dim = 384
heads = 12
window = 8
shift = 4


def get_inputs():
    return [torch.randn(batch, height, width, dim)]


def get_init_inputs():
    return [dim, heads, window, shift]
