"""The PyTorch way: a plain PyTorch program. With `import torch` and `from torch import nn` it is PyTorch's own."""

from __future__ import annotations

import functorch_lite.torch as torch
from functorch_lite.torch import nn

from .data import RATE, Digits, Run


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
        )
        self.hidden = nn.Linear(32 * 4 * 4, 64)
        self.dropout = nn.Dropout(0.3)
        self.out = nn.Linear(64, 10)
        for name, parameter in self.named_parameters():  # as in the functional model
            if name.endswith("weight"):
                nn.init.kaiming_normal_(parameter, nonlinearity="relu")
            else:
                nn.init.zeros_(parameter)

    def forward(self, x):
        x = torch.relu(self.hidden(self.features(x)))
        return self.out(self.dropout(x))


def train(data: Digits, epochs: int, compiled: bool, seed: int = 0, progress: bool = True) -> tuple[Net, Run]:
    """Trains a classifier: op by op, or with the whole step (forward, backward, optimizer, dropout's draws) as one program."""
    torch.manual_seed(seed)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=1.0, end_factor=0.0, total_iters=epochs)

    def step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    if compiled:
        step = torch.compile(step)

    run = Run("façade, compiled" if compiled else "façade, eager", epochs * data.steps, progress)
    for epoch in range(epochs):
        for x, y in run.steps(data.batches(epoch)):
            loss = step(torch.from_numpy(x), torch.from_numpy(y))
            run.losses.append(loss.item())
        scheduler.step()

    def predict(x):
        model.eval()
        with torch.no_grad():
            return model(torch.from_numpy(x)).argmax(dim=1).numpy()

    return model, run.finish(predict, data, len(step.programs) if compiled else None)
