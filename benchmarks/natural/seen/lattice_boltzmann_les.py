import torch
import torch.nn as nn

CX = [0, 1, 0, -1, 0, 1, -1, -1, 1]
CY = [0, 0, 1, 0, -1, 1, 1, -1, -1]
W = [4 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 36, 1 / 36, 1 / 36, 1 / 36]
OPP = [0, 3, 4, 1, 2, 7, 8, 5, 6]


class Model(nn.Module):
    """D2Q9 lattice Boltzmann, Smagorinsky sub-grid viscosity, bounce-back obstacles; a few steps."""

    def __init__(self, tau, smagorinsky, steps):
        super().__init__()
        self.tau, self.cs, self.steps = tau, smagorinsky, steps
        self.register_buffer("cx", torch.tensor(CX, dtype=torch.float32).view(9, 1, 1))
        self.register_buffer("cy", torch.tensor(CY, dtype=torch.float32).view(9, 1, 1))
        self.register_buffer("w", torch.tensor(W, dtype=torch.float32).view(9, 1, 1))

    def macro(self, f):
        rho = f.sum(0)
        ux = (f * self.cx).sum(0) / rho
        uy = (f * self.cy).sum(0) / rho
        return rho, ux, uy

    def forward(self, f, solid):
        for _ in range(self.steps):
            rho, ux, uy = self.macro(f)
            cu = 3 * (self.cx * ux + self.cy * uy)
            feq = self.w * rho * (1 + cu + 0.5 * cu ** 2 - 1.5 * (ux ** 2 + uy ** 2))
            neq = f - feq
            pxx = (self.cx * self.cx * neq).sum(0)
            pyy = (self.cy * self.cy * neq).sum(0)
            pxy = (self.cx * self.cy * neq).sum(0)
            q = torch.sqrt(pxx ** 2 + pyy ** 2 + 2 * pxy ** 2)
            tau = 0.5 * (self.tau + torch.sqrt(self.tau ** 2 + 18 * 1.4142135 * self.cs ** 2 * q / rho))
            post = f - neq / tau
            post = torch.where(solid, f[OPP], post)
            f = torch.stack([torch.roll(post[i], (CY[i], CX[i]), dims=(0, 1)) for i in range(9)])
        rho, ux, uy = self.macro(f)
        return f, rho, torch.stack([ux, uy])


ny = 768
nx = 1600
steps = 4


def get_inputs():
    w = torch.tensor(W).view(9, 1, 1)
    f = w * (1 + 0.05 * torch.rand(9, ny, nx))
    solid = torch.rand(ny, nx) < 0.03
    return [f, solid]


def get_init_inputs():
    return [0.53, 0.16, steps]
