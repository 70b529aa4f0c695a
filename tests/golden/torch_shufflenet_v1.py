# SPDX-License-Identifier: Apache-2.0
"""ShuffleNet 2×, 3 groups, in PyTorch, from the paper (Zhang et al., 2017, table 1 and figure 2)."""
import torch
from torch import nn
import torch.nn.functional as F

GROUPS = 3


def channel_shuffle(x):
    n, c, h, w = x.shape
    return x.view(n, GROUPS, c // GROUPS, h, w).transpose(1, 2).reshape(n, c, h, w)


class Unit(nn.Module):
    """Figure 2: (b) where the input is added, (c) where it is pooled and concatenated."""

    def __init__(self, inputs, outputs, down, groups):
        super().__init__()
        self.down = down
        bottleneck = outputs // 4
        produced = outputs - inputs if down else outputs
        self.conv1 = nn.Conv2d(inputs, bottleneck, 1, groups=groups, bias=False)
        self.bn1 = nn.BatchNorm2d(bottleneck)
        self.conv2 = nn.Conv2d(bottleneck, bottleneck, 3, 2 if down else 1, 1, groups=bottleneck,
                               bias=False)
        self.bn2 = nn.BatchNorm2d(bottleneck)
        self.conv3 = nn.Conv2d(bottleneck, produced, 1, groups=GROUPS, bias=False)
        self.bn3 = nn.BatchNorm2d(produced)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(channel_shuffle(y)))
        y = self.bn3(self.conv3(y))
        if self.down:
            return torch.cat([F.avg_pool2d(x, 3, 2, 1), F.relu(y)], 1)
        return F.relu(x + y)


class ShuffleNetV1(nn.Module):
    def __init__(self, classes, scale=2):
        super().__init__()
        channels = 24 * scale
        self.conv1 = nn.Conv2d(3, channels, 3, 2, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.pool = nn.MaxPool2d(3, 2, 1)
        for stage, (units, outputs) in enumerate([(4, 240), (8, 480), (4, 960)], start=2):
            layers = []
            for unit in range(units):
                groups = 1 if stage == 2 and unit == 0 else GROUPS
                layers.append(Unit(channels, outputs * scale, unit == 0, groups))
                channels = outputs * scale
            setattr(self, f"stage{stage}", nn.Sequential(*layers))
        self.fc = nn.Linear(channels, classes)

    def forward(self, x):
        x = self.pool(F.relu(self.bn1(self.conv1(x))))
        x = self.stage4(self.stage3(self.stage2(x)))
        return self.fc(x.mean([2, 3]))
