import math

import torch
import torch.nn as nn

CELLS = 48           # atoms per edge of the starting lattice
SPACING = 1.12
CUTOFF = 2.5
NUM_TYPES = 3


class Model(nn.Module):
    """Lennard-Jones energies, forces and virial from a padded neighbour list in a periodic box.

    Padding entries of the neighbour list point at the atom itself.
    """

    def __init__(self, num_types, cutoff, switch_from=2.0):
        super().__init__()
        self.cutoff = cutoff
        self.r_on = switch_from
        sig = 1.0 + 0.05 * torch.arange(num_types)
        eps = 1.0 + 0.2 * torch.arange(num_types)
        # Lorentz-Berthelot mixing
        self.register_buffer("sigma", 0.5 * (sig[:, None] + sig[None, :]))
        self.register_buffer("epsilon", torch.sqrt(eps[:, None] * eps[None, :]))

    def forward(self, pos, box, types, neighbours):
        n, k = neighbours.shape
        d = pos[:, None, :] - pos[neighbours]
        d = d - box * torch.round(d / box)
        r2 = d.pow(2).sum(-1)
        self_pair = neighbours == torch.arange(n, device=pos.device)[:, None]
        mask = (r2 < self.cutoff ** 2) & ~self_pair
        r2 = torch.where(mask, r2, torch.ones_like(r2))
        r = r2.sqrt()

        ti, tj = types[:, None].expand(n, k), types[neighbours]
        sig, eps = self.sigma[ti, tj], self.epsilon[ti, tj]
        s6 = (sig * sig / r2) ** 3
        e = 4 * eps * (s6 * s6 - s6)
        de = -24 * eps * (2 * s6 * s6 - s6) / r

        # quintic switch between r_on and the cutoff
        x = ((r - self.r_on) / (self.cutoff - self.r_on)).clamp(0, 1)
        sw = 1 - x ** 3 * (10 - 15 * x + 6 * x * x)
        dsw = -30 * x * x * (1 - x) ** 2 / (self.cutoff - self.r_on)

        pair_e = torch.where(mask, e * sw, 0.0)
        f_over_r = torch.where(mask, -(de * sw + e * dsw) / r, 0.0)
        pair_f = f_over_r.unsqueeze(-1) * d
        energy = 0.5 * pair_e.sum(-1)
        forces = pair_f.sum(1)
        virial = 0.5 * torch.einsum("nka,nkb->ab", d, pair_f)
        return energy, forces, virial


def get_inputs():
    n = CELLS
    g = torch.arange(n)
    ijk = torch.stack(torch.meshgrid(g, g, g, indexing="ij"), -1).view(-1, 3)
    pos = (ijk + 0.5) * SPACING + 0.03 * torch.randn(n ** 3, 3)
    o = range(-2, 3)
    off = torch.tensor([(a, b, c) for a in o for b in o for c in o if a * a + b * b + c * c <= 6])
    nb = (ijk[:, None, :] + off[None]) % n
    nb = (nb[..., 0] * n + nb[..., 1]) * n + nb[..., 2]
    box = torch.full((3,), n * SPACING)
    return [pos, box, torch.randint(0, NUM_TYPES, (n ** 3,)), nb]


def get_init_inputs():
    return [NUM_TYPES, CUTOFF]
