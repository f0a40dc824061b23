import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Cryo-EM: central Fourier slices of a volume, CTF and shifts, noise-weighted image error."""

    def __init__(self, box, pixel, kv, cs_mm, amp_contrast):
        super().__init__()
        volts = kv * 1e3
        self.lam = 12.2643 / math.sqrt(volts + 0.97845e-6 * volts ** 2)
        self.cs = cs_mm * 1e7
        self.phase = math.asin(amp_contrast)
        freq = torch.fft.fftshift(torch.fft.fftfreq(box))
        fy, fx = torch.meshgrid(freq, freq, indexing="ij")
        self.register_buffer("plane", torch.stack([fx, fy, torch.zeros_like(fx)], -1))
        self.register_buffer("s2", (fx ** 2 + fy ** 2) / pixel ** 2)
        self.register_buffer("azimuth", torch.atan2(fy, fx))
        self.register_buffer("inside", ((fx ** 2 + fy ** 2) < 0.25).float())
        self.box = box

    def forward(self, volume, quat, defocus, shifts, images, inv_var):
        D, B = self.box, quat.shape[0]
        q = F.normalize(quat, dim=-1)
        w, x, y, z = q.unbind(-1)
        R = torch.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
                         2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                         2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], -1).view(B, 3, 3)

        dims = (-3, -2, -1)
        ft = torch.fft.fftshift(torch.fft.fftn(torch.fft.ifftshift(volume, dim=dims), dim=dims), dim=dims)
        vol = torch.view_as_real(ft).permute(3, 0, 1, 2).unsqueeze(0)
        coords = torch.einsum("hwc,bdc->bhwd", self.plane, R)
        grid = (coords * D + D // 2) / (D - 1) * 2 - 1
        sl = F.grid_sample(vol, grid.unsqueeze(0), mode="bilinear", padding_mode="zeros", align_corners=True)
        sl = torch.complex(sl[0, 0], sl[0, 1])

        du, dv, ang = defocus[:, 0, None, None], defocus[:, 1, None, None], defocus[:, 2, None, None]
        dz = 0.5 * (du + dv + (du - dv) * torch.cos(2 * (self.azimuth - ang)))
        chi = math.pi * self.lam * self.s2 * (dz - 0.5 * self.cs * self.lam ** 2 * self.s2)
        ctf = -torch.sin(chi + self.phase)
        arg = -2 * math.pi * (self.plane[..., 0] * shifts[:, 0, None, None] + self.plane[..., 1] * shifts[:, 1, None, None])
        pred = sl * ctf * torch.complex(torch.cos(arg), torch.sin(arg))

        d2 = (-2, -1)
        obs = torch.fft.fftshift(torch.fft.fft2(torch.fft.ifftshift(images, dim=d2)), dim=d2)
        diff = torch.view_as_real(obs - pred).pow(2).sum(-1)
        err = 0.5 * (diff * inv_var * self.inside).sum(dim=d2) / (D * D)
        cross = (obs.conj() * pred).real * self.inside
        return err, cross.sum(dim=d2) / (D * D)


batch = 192
box = 128


def get_inputs():
    volume = torch.randn(box, box, box)
    quat = torch.randn(batch, 4)
    base = 12000.0 + 8000.0 * torch.rand(batch, 1)
    defocus = torch.cat([base, base - 300.0 * torch.rand(batch, 1), 3.14159 * torch.rand(batch, 1)], dim=1)
    shifts = 3.0 * torch.randn(batch, 2)
    images = 5.0 * torch.randn(batch, box, box)
    inv_var = 1e-4 * (0.5 + torch.rand(box, box))
    return [volume, quat, defocus, shifts, images, inv_var]


def get_init_inputs():
    return [box, 1.31, 300.0, 2.7, 0.1]
