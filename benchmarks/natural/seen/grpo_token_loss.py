import torch
import torch.nn as nn

PROMPTS = 1
GROUP_SIZE = 8
COMPLETION = 256
VOCAB = 32000


class Model(nn.Module):
    """GRPO objective with asymmetric clipping, token-level averaging and a k3 KL penalty."""

    def __init__(self, group_size, clip_low=0.2, clip_high=0.28, beta=0.04, temperature=0.9):
        super().__init__()
        self.group_size = group_size
        self.clip_low = clip_low
        self.clip_high = clip_high
        self.beta = beta
        self.temperature = temperature

    def forward(self, logits, tokens, old_logps, ref_logps, rewards, mask):
        grouped = rewards.view(-1, self.group_size)
        adv = (grouped - grouped.mean(1, keepdim=True)) / (grouped.std(1, keepdim=True) + 1e-4)
        adv = adv.view(-1, 1)

        logits = logits[:, :-1] / self.temperature
        logps = torch.log_softmax(logits.float(), dim=-1)
        entropy = -(logps.exp() * logps).sum(-1)
        logps = logps.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)

        ratio = torch.exp(logps - old_logps)
        clipped = ratio.clamp(1 - self.clip_low, 1 + self.clip_high)
        pg = -torch.minimum(ratio * adv, clipped * adv)

        diff = ref_logps - logps
        kl = torch.exp(diff) - diff - 1

        m = mask.float()
        total = m.sum().clamp(min=1.0)
        loss = ((pg + self.beta * kl) * m).sum() / total
        stats = torch.stack([
            (kl * m).sum() / total,
            (entropy * m).sum() / total,
            (((ratio < 1 - self.clip_low) & (adv < 0) | (ratio > 1 + self.clip_high) & (adv > 0)) * m).sum() / total,
        ])
        return loss, logps, stats


def get_inputs():
    n = PROMPTS * GROUP_SIZE
    logits = torch.randn(n, COMPLETION + 1, VOCAB)
    tokens = torch.randint(0, VOCAB, (n, COMPLETION))
    lp = torch.log_softmax(logits[:, :-1] / 0.9, -1).gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
    old = lp + 0.2 * torch.randn(n, COMPLETION)
    ref = lp + 0.3 * torch.randn(n, COMPLETION)
    lens = torch.randint(COMPLETION // 4, COMPLETION + 1, (n, 1))
    mask = torch.arange(COMPLETION)[None] < lens
    return [logits, tokens, old, ref, torch.rand(n), mask]


def get_init_inputs():
    return [GROUP_SIZE]
