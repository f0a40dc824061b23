"""Forward kinematics of a robot arm for a batch of joint angles: quaternions and offsets are chained from the base to
the hand, and the pose error to a target is returned."""

import torch
import torch.nn as nn

batch_size = 131072
joints = 7


def quat_mul(a, b):
    aw, ax, ay, az = a.unbind(-1)
    bw, bx, by, bz = b.unbind(-1)
    return torch.stack(
        (
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ),
        dim=-1,
    )


def quat_rotate(q, v):
    w, u = q[..., :1], q[..., 1:]
    t = 2.0 * torch.linalg.cross(u, v, dim=-1)
    return v + w * t + torch.linalg.cross(u, t, dim=-1)


class Model(nn.Module):
    def __init__(self, joints):
        super().__init__()
        axes = torch.randn(joints, 3)
        self.register_buffer("axes", axes / axes.norm(dim=-1, keepdim=True))
        self.register_buffer("links", 0.3 * torch.randn(joints, 3))

    def forward(self, angles, target_position, target_rotation):
        """angles: (batch, joints); target_position: (batch, 3); target_rotation: (batch, 4), a quaternion."""
        half = 0.5 * angles
        local = torch.cat((half.cos().unsqueeze(-1), half.sin().unsqueeze(-1) * self.axes), dim=-1)
        rotation = torch.zeros_like(local[:, 0])
        rotation[:, 0] = 1.0
        position = torch.zeros_like(target_position)
        for j in range(angles.shape[1]):
            rotation = quat_mul(rotation, local[:, j])
            position = position + quat_rotate(rotation, self.links[j].expand_as(position))
        target = target_rotation / target_rotation.norm(dim=-1, keepdim=True).clamp(min=1e-8)
        conjugate = rotation * rotation.new_tensor([1.0, -1.0, -1.0, -1.0])
        error = quat_mul(target, conjugate)
        rotation_error = 2.0 * torch.sign(error[:, :1]) * error[:, 1:]
        return position, torch.cat((target_position - position, rotation_error), dim=-1)


def get_inputs():
    return [torch.randn(batch_size, joints), torch.randn(batch_size, 3), torch.randn(batch_size, 4)]


def get_init_inputs():
    return [joints]
