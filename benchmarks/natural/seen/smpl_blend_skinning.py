import torch
import torch.nn as nn
import torch.nn.functional as F

PARENTS = [-1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 12, 13, 14, 16, 17, 18, 19, 20, 21]


class Model(nn.Module):
    """SMPL body: shape and pose blend shapes, kinematic tree, linear blend skinning."""

    def __init__(self, n_verts, n_betas):
        super().__init__()
        nj = len(PARENTS)
        self.register_buffer("v_template", 0.5 * torch.randn(n_verts, 3))
        self.register_buffer("shapedirs", 0.01 * torch.randn(n_verts, 3, n_betas))
        self.register_buffer("posedirs", 0.005 * torch.randn((nj - 1) * 9, n_verts * 3))
        self.register_buffer("j_regressor", torch.softmax(4 * torch.randn(nj, n_verts), -1))
        self.register_buffer("lbs_weights", torch.softmax(4 * torch.randn(n_verts, nj), -1))

    def rodrigues(self, aa):
        angle = torch.norm(aa + 1e-8, dim=-1, keepdim=True)
        axis = aa / angle
        x, y, z = axis.unbind(-1)
        zero = torch.zeros_like(x)
        K = torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], dim=-1).view(*aa.shape[:-1], 3, 3)
        s, c = torch.sin(angle)[..., None], torch.cos(angle)[..., None]
        eye = torch.eye(3, device=aa.device, dtype=aa.dtype)
        return eye + s * K + (1 - c) * (K @ K)

    def forward(self, betas, pose, transl):
        B, J = pose.shape[0], len(PARENTS)
        v_shaped = self.v_template + torch.einsum("bl,vkl->bvk", betas, self.shapedirs)
        joints = torch.einsum("bvk,jv->bjk", v_shaped, self.j_regressor)
        R = self.rodrigues(pose.view(B, J, 3))
        eye = torch.eye(3, device=pose.device)
        feat = (R[:, 1:] - eye).reshape(B, -1)
        v_posed = v_shaped + (feat @ self.posedirs).view(B, -1, 3)

        parents = torch.tensor(PARENTS[1:], device=pose.device)
        rel = torch.cat([joints[:, :1], joints[:, 1:] - joints[:, parents]], dim=1)
        T = torch.cat([F.pad(R, (0, 0, 0, 1)), F.pad(rel.unsqueeze(-1), (0, 0, 0, 1), value=1.0)], dim=-1)
        chain = [T[:, 0]]
        for j in range(1, J):
            chain.append(chain[PARENTS[j]] @ T[:, j])
        G = torch.stack(chain, dim=1)
        posed_joints = G[:, :, :3, 3]
        jh = F.pad(joints, (0, 1)).unsqueeze(-1)
        A = G - F.pad(G @ jh, (3, 0))

        Tv = torch.matmul(self.lbs_weights, A.view(B, J, 16)).view(B, -1, 4, 4)
        vh = F.pad(v_posed, (0, 1), value=1.0).unsqueeze(-1)
        verts = (Tv @ vh)[..., :3, 0]
        return verts + transl[:, None], posed_joints + transl[:, None]


batch = 200
n_verts = 6890
n_betas = 10


def get_inputs():
    betas = torch.randn(batch, n_betas)
    pose = 0.4 * torch.randn(batch, 72)
    transl = torch.randn(batch, 3)
    return [betas, pose, transl]


def get_init_inputs():
    return [n_verts, n_betas]
