import torch
import torch.nn as nn

batch_size = 512
max_len = 200
num_items = 54_542
hidden = 64
num_heads = 2
num_candidates = 101


class Model(nn.Module):
    """SASRec with one block: sequence of item ids in, scores of candidate items for the last position out."""

    def __init__(self, num_items, max_len, hidden, num_heads):
        super().__init__()
        self.item_emb = nn.Embedding(num_items + 1, hidden, padding_idx=0)
        self.pos_emb = nn.Embedding(max_len, hidden)
        self.ln1 = nn.LayerNorm(hidden, eps=1e-8)
        self.attn = nn.MultiheadAttention(hidden, num_heads, batch_first=True)
        self.ln2 = nn.LayerNorm(hidden, eps=1e-8)
        self.conv1 = nn.Conv1d(hidden, hidden, 1)
        self.conv2 = nn.Conv1d(hidden, hidden, 1)
        self.relu = nn.ReLU()
        self.last_ln = nn.LayerNorm(hidden, eps=1e-8)
        self.hidden = hidden

    def forward(self, seq, candidates):
        B, L = seq.shape
        x = self.item_emb(seq) * self.hidden**0.5
        x = x + self.pos_emb(torch.arange(L, device=seq.device))
        timeline = (seq == 0).unsqueeze(-1)
        x = x.masked_fill(timeline, 0.0)
        causal = torch.triu(torch.ones(L, L, dtype=torch.bool, device=seq.device), diagonal=1)
        q = self.ln1(x)
        a, _ = self.attn(q, x, x, attn_mask=causal, need_weights=False)
        x = self.ln2(q + a)
        h = self.conv2(self.relu(self.conv1(x.transpose(1, 2)))).transpose(1, 2)
        x = (x + h).masked_fill(timeline, 0.0)
        final = self.last_ln(x)[:, -1]
        return torch.bmm(self.item_emb(candidates), final.unsqueeze(-1)).squeeze(-1)


def get_inputs():
    seq = torch.randint(1, num_items + 1, (batch_size, max_len))
    lengths = torch.randint(5, max_len + 1, (batch_size, 1))
    seq = torch.where(torch.arange(max_len)[None] < max_len - lengths, torch.zeros_like(seq), seq)
    return [seq, torch.randint(1, num_items + 1, (batch_size, num_candidates))]


def get_init_inputs():
    return [num_items, max_len, hidden, num_heads]
