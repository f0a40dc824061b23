import torch
import torch.nn as nn


class Model(nn.Module):
    """Rejection-sampling verification of speculative drafts with the random numbers handed in."""

    def __init__(self, n_draft):
        super().__init__()
        self.n_draft = n_draft

    def forward(self, target_logits, draft_logits, draft_ids, temperature, uniform, expo):
        B, K = draft_ids.shape
        temp = temperature.view(B, 1, 1)
        p = torch.softmax(target_logits.float() / temp, dim=-1)
        q = torch.softmax(draft_logits.float() / temp, dim=-1)

        p_tok = p[:, :K].gather(-1, draft_ids.unsqueeze(-1)).squeeze(-1)
        q_tok = q.gather(-1, draft_ids.unsqueeze(-1)).squeeze(-1)
        accept = uniform < (p_tok / q_tok.clamp(min=1e-20))
        run = torch.cumprod(accept.long(), dim=1)
        n_acc = run.sum(1)

        # residual distribution at every draft position; the target itself for the bonus token
        resid = (p[:, :K] - q).clamp(min=0.0)
        resid = resid / resid.sum(-1, keepdim=True).clamp(min=1e-20)
        dist = torch.cat([resid, p[:, K:]], dim=1)
        replacement = (dist / expo[:, None, :]).argmax(dim=-1)

        pos = torch.arange(K + 1, device=p.device)[None, :]
        drafts = torch.cat([draft_ids, torch.zeros_like(draft_ids[:, :1])], dim=1)
        out = torch.where(pos < n_acc[:, None], drafts, torch.full_like(drafts, -1))
        out = torch.where(pos == n_acc[:, None], replacement, out)
        return out, n_acc


batch = 48
n_draft = 4
vocab = 151936


def get_inputs():
    target_logits = 3.0 * torch.randn(batch, n_draft + 1, vocab)
    draft_logits = target_logits[:, :n_draft] + 0.5 * torch.randn(batch, n_draft, vocab)
    draft_ids = draft_logits.argmax(-1)
    temperature = 0.6 + 0.6 * torch.rand(batch)
    uniform = torch.rand(batch, n_draft)
    expo = -torch.log(torch.rand(batch, vocab).clamp(min=1e-7)) + 1e-7
    return [target_logits.to(torch.bfloat16), draft_logits.to(torch.bfloat16), draft_ids, temperature, uniform, expo]


def get_init_inputs():
    return [n_draft]
