"""Additive Holt-Winters over many series at once: level, trend and season updated in each step, one-step forecasts."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, period):
        super().__init__()
        self.period = period

    def forward(self, y, alpha, beta, gamma, level0, trend0, season0):
        alpha, beta, gamma = torch.sigmoid(alpha), torch.sigmoid(beta), torch.sigmoid(gamma)
        level, trend = level0, trend0
        season = list(season0.unbind(1))
        forecasts = []
        for t in range(y.shape[1]):
            s = season[t % self.period]
            forecasts.append(level + trend + s)
            new_level = alpha * (y[:, t] - s) + (1 - alpha) * (level + trend)
            trend = beta * (new_level - level) + (1 - beta) * trend
            season[t % self.period] = gamma * (y[:, t] - new_level) + (1 - gamma) * s
            level = new_level
        return torch.stack(forecasts, dim=1), level, trend


CASES = [dict(name="m4_hourly", dtype="float32", series=30490, length=168, period=24)]


def get_inputs(series=30490, length=168, period=24):
    return [
        torch.randn(series, length),
        torch.randn(series),
        torch.randn(series) - 2,
        torch.randn(series) - 1,
        torch.randn(series),
        torch.randn(series) * 0.1,
        torch.randn(series, period),
    ]


def get_init_inputs(period=24):
    return [period]
