"""ResnetBlock2D of the Stable Diffusion 1.5 UNet: 320 -> 640 channels at 32x32, time embedding 1280, fp16."""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
IN_CHANNELS = 320
OUT_CHANNELS = 640
TEMB_CHANNELS = 1280
GROUPS = 32
RESOLUTION = 32


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, temb_channels, groups):
        super().__init__()
        self.norm1 = nn.GroupNorm(groups, in_channels, eps=1e-5)
        self.conv1 = nn.Conv2d(in_channels, out_channels, 3, padding=1)
        self.time_emb_proj = nn.Linear(temb_channels, out_channels)
        self.norm2 = nn.GroupNorm(groups, out_channels, eps=1e-5)
        self.conv2 = nn.Conv2d(out_channels, out_channels, 3, padding=1)
        self.conv_shortcut = nn.Conv2d(in_channels, out_channels, 1)
        self.to(dtype=torch.float16)

    def forward(self, input_tensor, temb):
        hidden_states = self.norm1(input_tensor)
        hidden_states = F.silu(hidden_states)
        hidden_states = self.conv1(hidden_states)
        temb = self.time_emb_proj(F.silu(temb))[:, :, None, None]
        hidden_states = hidden_states + temb
        hidden_states = self.norm2(hidden_states)
        hidden_states = F.silu(hidden_states)
        hidden_states = self.conv2(hidden_states)
        return self.conv_shortcut(input_tensor) + hidden_states


def get_inputs():
    sample = torch.randn(BATCH, IN_CHANNELS, RESOLUTION, RESOLUTION, dtype=torch.float16)
    temb = torch.randn(BATCH, TEMB_CHANNELS, dtype=torch.float16)
    return [sample, temb]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, TEMB_CHANNELS, GROUPS]
