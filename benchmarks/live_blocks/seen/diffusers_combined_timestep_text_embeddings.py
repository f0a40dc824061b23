"""SD3 conditioning embedding: sinusoidal timestep -> MLP, pooled text -> MLP, summed."""
import torch
from diffusers.models.embeddings import CombinedTimestepTextProjEmbeddings


def build():
    torch.manual_seed(0)
    module = CombinedTimestepTextProjEmbeddings(embedding_dim=128, pooled_projection_dim=96).eval()
    timestep = torch.tensor([981.0, 501.0, 21.0])
    pooled_projection = torch.randn(3, 96)
    return module, (timestep, pooled_projection), {}
