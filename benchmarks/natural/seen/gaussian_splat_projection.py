import torch
import torch.nn as nn

NUM_GAUSSIANS = 500_000
WIDTH, HEIGHT = 1600, 1066

C0 = 0.28209479177387814
C1 = 0.4886025119029199
C2 = (1.0925484305920792, -1.0925484305920792, 0.31539156525252005, -1.0925484305920792, 0.5462742152960396)


def quat_to_rotmat(q):
    q = q / q.norm(dim=-1, keepdim=True)
    w, x, y, z = q.unbind(-1)
    return torch.stack([
        1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
    ], dim=-1).view(*q.shape[:-1], 3, 3)


def eval_sh(sh, dirs):
    """Degree-2 spherical harmonics. sh: (N, 9, 3), dirs: (N, 3)."""
    x, y, z = dirs[:, 0:1], dirs[:, 1:2], dirs[:, 2:3]
    out = C0 * sh[:, 0]
    out = out - C1 * y * sh[:, 1] + C1 * z * sh[:, 2] - C1 * x * sh[:, 3]
    xx, yy, zz = x * x, y * y, z * z
    out = (out + C2[0] * x * y * sh[:, 4] + C2[1] * y * z * sh[:, 5]
           + C2[2] * (2 * zz - xx - yy) * sh[:, 6] + C2[3] * x * z * sh[:, 7] + C2[4] * (xx - yy) * sh[:, 8])
    return (out + 0.5).clamp(min=0)


class Model(nn.Module):
    """Preprocess stage of 3D Gaussian splatting: EWA projection, conics, radii and view colours."""

    def __init__(self, width, height, fov_x=1.0, near=0.2, blur=0.3):
        super().__init__()
        self.width, self.height = width, height
        self.near, self.blur = near, blur
        self.fx = self.fy = 0.5 * width / torch.tan(torch.tensor(fov_x / 2)).item()

    def forward(self, means, log_scales, quats, opacity_logit, sh, viewmat):
        R, t = viewmat[:3, :3], viewmat[:3, 3]
        cam = means @ R.T + t
        z = cam[:, 2]
        in_front = z > self.near
        zc = z.clamp(min=self.near)

        M = quat_to_rotmat(quats) * torch.exp(log_scales)[:, None, :]
        cov3d = M @ M.transpose(1, 2)

        lim_x = 1.3 * 0.5 * self.width / self.fx
        lim_y = 1.3 * 0.5 * self.height / self.fy
        tx = (cam[:, 0] / zc).clamp(-lim_x, lim_x) * zc
        ty = (cam[:, 1] / zc).clamp(-lim_y, lim_y) * zc
        zero = torch.zeros_like(zc)
        J = torch.stack([
            self.fx / zc, zero, -self.fx * tx / (zc * zc),
            zero, self.fy / zc, -self.fy * ty / (zc * zc),
        ], dim=-1).view(-1, 2, 3)
        T = J @ R
        cov = T @ cov3d @ T.transpose(1, 2)

        a, b, c = cov[:, 0, 0] + self.blur, cov[:, 0, 1], cov[:, 1, 1] + self.blur
        det = a * c - b * b
        inv = 1.0 / det.clamp(min=1e-8)
        conic = torch.stack([c * inv, -b * inv, a * inv], -1)
        mid = 0.5 * (a + c)
        lam = mid + torch.sqrt((mid * mid - det).clamp(min=0.1))
        radius = torch.ceil(3.0 * lam.sqrt())

        xy = torch.stack([
            self.fx * cam[:, 0] / zc + self.width / 2, self.fy * cam[:, 1] / zc + self.height / 2
        ], -1)
        on_screen = ((xy + radius[:, None] > 0).all(-1)
                     & (xy[:, 0] - radius < self.width) & (xy[:, 1] - radius < self.height))
        visible = in_front & on_screen & (det > 0)
        radius = torch.where(visible, radius, 0.0)

        eye = -(R.T @ t)
        dirs = nn.functional.normalize(means - eye, dim=-1)
        colour = eval_sh(sh, dirs)
        opacity = torch.sigmoid(opacity_logit) * visible
        return xy, z, conic, radius.int(), opacity, colour


def get_inputs():
    n = NUM_GAUSSIANS
    view = torch.eye(4)
    view[2, 3] = 4.0
    return [
        torch.randn(n, 3) * 1.5,
        torch.randn(n, 3) * 0.5 - 4.0,
        torch.randn(n, 4),
        torch.randn(n),
        torch.randn(n, 9, 3) * 0.3,
        view,
    ]


def get_init_inputs():
    return [WIDTH, HEIGHT]
