import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
CLASSES = 19
H, W = 256, 512
IGNORE = 255


class Model(nn.Module):
    """Lovasz-softmax plus cross entropy for semantic segmentation, with an ignore label."""

    def __init__(self, num_classes, ignore_index=255, ce_weight=0.5):
        super().__init__()
        self.num_classes = num_classes
        self.ignore_index = ignore_index
        self.ce_weight = ce_weight

    def lovasz_grad(self, gt_sorted):
        total = gt_sorted.sum(dim=-1, keepdim=True)
        inter = total - gt_sorted.cumsum(-1)
        union = total + (1 - gt_sorted).cumsum(-1)
        jaccard = 1 - inter / union.clamp(min=1.0)
        return torch.cat([jaccard[..., :1], jaccard[..., 1:] - jaccard[..., :-1]], dim=-1)

    def forward(self, logits, labels):
        valid = labels != self.ignore_index
        safe = torch.where(valid, labels, torch.zeros_like(labels))
        logp = F.log_softmax(logits, dim=1)
        nll = -logp.gather(1, safe.unsqueeze(1)).squeeze(1)
        ce = (nll * valid).sum() / valid.sum().clamp(min=1)

        probs = logp.exp().permute(1, 0, 2, 3).flatten(1)                 # C, P
        onehot = F.one_hot(safe.flatten(), self.num_classes).t().to(probs.dtype)
        keep = valid.flatten().to(probs.dtype)
        onehot = onehot * keep
        errors = (onehot - probs).abs() * keep

        errors, perm = errors.sort(dim=-1, descending=True)
        grad = self.lovasz_grad(onehot.gather(-1, perm))
        per_class = (F.relu(errors) * grad).sum(-1)
        present = (onehot.sum(-1) > 0).to(probs.dtype)
        lovasz = (per_class * present).sum() / present.sum().clamp(min=1)
        return self.ce_weight * ce + (1 - self.ce_weight) * lovasz, per_class


def get_inputs():
    labels = torch.randint(0, CLASSES, (BATCH, H, W))
    labels[torch.rand(BATCH, H, W) < 0.05] = IGNORE
    return [torch.randn(BATCH, CLASSES, H, W), labels]


def get_init_inputs():
    return [CLASSES, IGNORE]
