import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 128
episode_len = 120
n_agents = 10
state_dim = 243
embed_dim = 32
hypernet_embed = 64


class Model(nn.Module):
    """QMIX: agents' values mixed by a network whose non-negative weights come from hypernetworks of the state."""

    def __init__(self, n_agents, state_dim, embed_dim, hypernet_embed):
        super().__init__()
        self.n_agents = n_agents
        self.state_dim = state_dim
        self.embed_dim = embed_dim
        self.hyper_w_1 = nn.Sequential(
            nn.Linear(state_dim, hypernet_embed), nn.ReLU(), nn.Linear(hypernet_embed, embed_dim * n_agents)
        )
        self.hyper_w_final = nn.Sequential(
            nn.Linear(state_dim, hypernet_embed), nn.ReLU(), nn.Linear(hypernet_embed, embed_dim)
        )
        self.hyper_b_1 = nn.Linear(state_dim, embed_dim)
        self.V = nn.Sequential(nn.Linear(state_dim, embed_dim), nn.ReLU(), nn.Linear(embed_dim, 1))

    def forward(self, agent_qs, states):
        bs = agent_qs.size(0)
        states = states.reshape(-1, self.state_dim)
        agent_qs = agent_qs.reshape(-1, 1, self.n_agents)
        w1 = torch.abs(self.hyper_w_1(states)).view(-1, self.n_agents, self.embed_dim)
        b1 = self.hyper_b_1(states).view(-1, 1, self.embed_dim)
        hidden = F.elu(torch.bmm(agent_qs, w1) + b1)
        w_final = torch.abs(self.hyper_w_final(states)).view(-1, self.embed_dim, 1)
        v = self.V(states).view(-1, 1, 1)
        y = torch.bmm(hidden, w_final) + v
        return y.view(bs, -1, 1)


def get_inputs():
    return [torch.randn(batch_size, episode_len, n_agents), torch.randn(batch_size, episode_len, state_dim)]


def get_init_inputs():
    return [n_agents, state_dim, embed_dim, hypernet_embed]
