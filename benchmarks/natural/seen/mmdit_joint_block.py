import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 4
image_tokens = 1024
text_tokens = 154
dim = 1536
num_heads = 24


class Stream(nn.Module):
    def __init__(self, dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.norm1 = nn.LayerNorm(dim, elementwise_affine=False, eps=1e-6)
        self.norm2 = nn.LayerNorm(dim, elementwise_affine=False, eps=1e-6)
        self.ada = nn.Linear(dim, 6 * dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.fc1 = nn.Linear(dim, 4 * dim)
        self.fc2 = nn.Linear(4 * dim, dim)

    def pre(self, x, c):
        mod = self.ada(F.silu(c)).unsqueeze(1).chunk(6, dim=-1)
        h = self.norm1(x) * (1 + mod[1]) + mod[0]
        B, N, C = x.shape
        qkv = self.qkv(h).view(B, N, 3, self.num_heads, C // self.num_heads).permute(2, 0, 3, 1, 4)
        return qkv, mod

    def post(self, x, attn, mod):
        x = x + mod[2] * self.proj(attn)
        h = self.norm2(x) * (1 + mod[4]) + mod[3]
        return x + mod[5] * self.fc2(F.gelu(self.fc1(h), approximate="tanh"))


class Model(nn.Module):
    """Joint attention block of Stable Diffusion 3: text and image have own weights and attend together."""

    def __init__(self, dim, num_heads):
        super().__init__()
        self.image = Stream(dim, num_heads)
        self.text = Stream(dim, num_heads)
        self.half()

    def forward(self, x, ctx, c):
        qkv_x, mod_x = self.image.pre(x, c)
        qkv_c, mod_c = self.text.pre(ctx, c)
        q, k, v = torch.cat((qkv_c, qkv_x), dim=3).unbind(0)
        a = F.scaled_dot_product_attention(q, k, v)
        a = a.transpose(1, 2).flatten(2)
        n = ctx.shape[1]
        return self.image.post(x, a[:, n:], mod_x), self.text.post(ctx, a[:, :n], mod_c)


def get_inputs():
    return [
        torch.randn(batch_size, image_tokens, dim, dtype=torch.float16),
        torch.randn(batch_size, text_tokens, dim, dtype=torch.float16),
        torch.randn(batch_size, dim, dtype=torch.float16),
    ]


def get_init_inputs():
    return [dim, num_heads]
