import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers):
        super(Model, self).__init__()  # noqa: UP008
        self.lstm = nn.LSTM(input_size, hidden_size, num_layers, batch_first=True)
        self.fc = nn.Linear(hidden_size, input_size)

    def forward(self, x, h0, c0):
        out, state = self.lstm(x, (h0, c0))
        return [self.fc(out[:, -1, :]), state[0]]


batch, length, size, hidden, layers = 3, 6, 5, 7, 2


def get_inputs():
    return [torch.randn(batch, length, size), torch.randn(layers, batch, hidden), torch.randn(layers, batch, hidden)]


def get_init_inputs():
    return [size, hidden, layers]
