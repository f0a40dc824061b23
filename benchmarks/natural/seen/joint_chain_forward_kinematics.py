import math

import torch
import torch.nn as nn

NUM_CONFIGS = 200_000

# (a, d, alpha) of a 7-joint arm, modified DH convention
DH = [
    (0.0, 0.333, 0.0),
    (0.0, 0.0, -math.pi / 2),
    (0.0, 0.316, math.pi / 2),
    (0.0825, 0.0, math.pi / 2),
    (-0.0825, 0.384, -math.pi / 2),
    (0.0, 0.0, math.pi / 2),
    (0.088, 0.107, math.pi / 2),
]


class Model(nn.Module):
    """Batched forward kinematics, geometric Jacobian and manipulability for trajectory sampling."""

    def __init__(self, dh, damping=1e-3):
        super().__init__()
        self.damping = damping
        dh = torch.tensor(dh)
        self.register_buffer("a", dh[:, 0])
        self.register_buffer("d", dh[:, 1])
        self.register_buffer("ca", torch.cos(dh[:, 2]))
        self.register_buffer("sa", torch.sin(dh[:, 2]))
        self.register_buffer("lower", torch.full((len(dh),), -2.8))
        self.register_buffer("upper", torch.full((len(dh),), 2.8))

    def link(self, q, i):
        c, s = torch.cos(q), torch.sin(q)
        ca, sa = self.ca[i].expand_as(q), self.sa[i].expand_as(q)
        z, o = torch.zeros_like(q), torch.ones_like(q)
        rows = [
            torch.stack([c, -s, z, self.a[i].expand_as(q)], -1),
            torch.stack([s * ca, c * ca, -sa, -self.d[i] * sa], -1),
            torch.stack([s * sa, c * sa, ca, self.d[i] * ca], -1),
            torch.stack([z, z, z, o], -1),
        ]
        return torch.stack(rows, dim=-2)

    def forward(self, q, target):
        b, n = q.shape
        q = q.clamp(self.lower, self.upper)
        T = torch.eye(4, device=q.device, dtype=q.dtype).expand(b, 4, 4)
        axes, origins = [], []
        for i in range(n):
            T = T @ self.link(q[:, i], i)
            axes.append(T[:, :3, 2])
            origins.append(T[:, :3, 3])
        axes, origins = torch.stack(axes, 1), torch.stack(origins, 1)
        p = T[:, :3, 3]

        lin = torch.cross(axes, p[:, None] - origins, dim=-1)
        J = torch.cat([lin, axes], dim=-1).transpose(1, 2)            # (b, 6, n)
        JJt = lin.transpose(1, 2) @ lin + self.damping * torch.eye(3, device=q.device)
        err = target - p
        # damped least squares step on the position, closed-form 3x3 solve
        c0, c1, c2 = JJt.unbind(-1)
        k0, k1, k2 = torch.cross(c1, c2, dim=-1), torch.cross(c2, c0, dim=-1), torch.cross(c0, c1, dim=-1)
        det = (c0 * k0).sum(-1, keepdim=True)
        y = torch.cat([(k * err).sum(-1, keepdim=True) for k in (k0, k1, k2)], -1) / det
        dq = (lin @ y.unsqueeze(-1)).squeeze(-1)
        rot6d = T[:, :3, :2].transpose(1, 2).reshape(b, 6)
        return torch.cat([p, rot6d], -1), J, dq, det.squeeze(-1).clamp(min=0).sqrt()


def get_inputs():
    return [(torch.rand(NUM_CONFIGS, 7) * 2 - 1) * 3.0, torch.randn(NUM_CONFIGS, 3) * 0.4]


def get_init_inputs():
    return [DH]
