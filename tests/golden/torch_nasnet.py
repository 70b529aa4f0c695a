# SPDX-License-Identifier: Apache-2.0
"""NASNet-A (4 @ 1056) in PyTorch, from the paper (Zoph et al., 2018, figures 2 and 4, appendix A).

Operations that begin with a ReLU take a pair (x, relu(x)): the ReLU is computed once, as soon as x
is, so that make_golden.py knows which layer x came from.
"""
import torch
from torch import nn
import torch.nn.functional as F


def batchnorm(channels):
    return nn.BatchNorm2d(channels, eps=1e-3)


def pair(x):
    return x, F.relu(x)


def join(pairs):
    return torch.cat([x for x, _ in pairs], 1), torch.cat([r for _, r in pairs], 1)


class Separable(nn.Module):
    def __init__(self, inputs, outputs, kernel, stride):
        super().__init__()
        self.depthwise = nn.Conv2d(inputs, inputs, kernel, stride, kernel // 2, groups=inputs,
                                   bias=False)
        self.pointwise = nn.Conv2d(inputs, outputs, 1, bias=False)

    def forward(self, x):
        return self.pointwise(self.depthwise(x))


class Sep(nn.Module):
    """A separable convolution is always applied twice (appendix A.4)."""

    def __init__(self, inputs, outputs, kernel, stride=1):
        super().__init__()
        self.conv1 = Separable(inputs, outputs, kernel, stride)
        self.bn1 = batchnorm(outputs)
        self.conv2 = Separable(outputs, outputs, kernel, 1)
        self.bn2 = batchnorm(outputs)

    def forward(self, x):
        return self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x[1])))))


class Squeeze(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 1, bias=False)
        self.bn = batchnorm(outputs)

    def forward(self, x):
        return pair(self.bn(self.conv(x[1])))


class FactorizedReduction(nn.Module):
    """Half the map without losing half of what it says: two grids of pixels, one pixel apart."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.path1 = nn.Conv2d(inputs, outputs // 2, 1, stride=2, bias=False)
        self.path2 = nn.Conv2d(inputs, outputs // 2, 1, stride=2, bias=False)
        self.bn = batchnorm(outputs)

    def forward(self, x):
        shifted = F.pad(x[1], (0, 1, 0, 1))[:, :, 1:, 1:]
        return pair(self.bn(torch.cat([self.path1(x[1]), self.path2(shifted)], 1)))


class Cell(nn.Module):
    """`previous` and `current` are channel counts; `halved`: previous's map is twice current's."""

    def __init__(self, previous, current, width, halved=False, stem=False):
        super().__init__()
        if not stem:
            self.previous = (FactorizedReduction if halved else Squeeze)(previous, width)
        self.current = Squeeze(current, width)
        self.average = nn.AvgPool2d(3, 1, 1, count_include_pad=False)

    def squeezed(self, previous, current):
        return self.previous(previous), self.current(current)


class NormalCell(Cell):
    def __init__(self, previous, current, width, halved):
        super().__init__(previous, current, width, halved)
        self.outputs = 6 * width
        self.sep0_left = Sep(width, width, 5)
        self.sep0_right = Sep(width, width, 3)
        self.sep1_left = Sep(width, width, 5)
        self.sep1_right = Sep(width, width, 3)
        self.sep4_left = Sep(width, width, 3)

    def forward(self, previous, current):
        p, c = self.squeezed(previous, current)
        return join([
            p,
            pair(self.sep0_left(c) + self.sep0_right(p)),
            pair(self.sep1_left(p) + self.sep1_right(p)),
            pair(p[0] + self.average(c[0])),
            pair(2 * self.average(p[0])),
            pair(c[0] + self.sep4_left(c)),
        ])


class ReductionCell(Cell):
    def __init__(self, previous, current, width, halved=False, stem=False):
        super().__init__(previous, current, width, halved, stem)
        self.stem, self.outputs = stem, 4 * width
        inputs = previous if stem else width  # the first cell of all takes its previous input as is
        self.sep0_left = Sep(width, width, 5, 2)
        self.sep0_right = Sep(inputs, width, 7, 2)
        self.sep1_right = Sep(inputs, width, 7, 2)
        self.sep2_right = Sep(inputs, width, 5, 2)
        self.sep4_left = Sep(width, width, 3)
        self.average_down = nn.AvgPool2d(3, 2, 1, count_include_pad=False)

    def forward(self, previous, current):
        p, c = (previous, self.current(current)) if self.stem else self.squeezed(previous, current)
        best = F.max_pool2d(c[0], 3, 2, 1)
        pair0 = pair(self.sep0_left(c) + self.sep0_right(p))
        pair1 = pair(best + self.sep1_right(p))
        pair2 = pair(self.average_down(c[0]) + self.sep2_right(p))
        pair3 = pair(pair1[0] + self.average(pair0[0]))
        pair4 = pair(best + self.sep4_left(pair0))
        return join([pair1, pair2, pair3, pair4])


class Stem(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(3, 32, 3, 2, bias=False)
        self.bn = batchnorm(32)
        self.cell0 = ReductionCell(32, 32, width // 4, stem=True)
        self.cell1 = ReductionCell(32, self.cell0.outputs, width // 2, halved=True)

    def forward(self, image):
        x = pair(self.bn(self.conv(image)))
        first = self.cell0(x, x)
        return first, self.cell1(x, first)


class NASNetMobile(nn.Module):
    def __init__(self, classes, repeats=4, penultimate=1056):
        super().__init__()
        width = penultimate // 24
        self.stem = Stem(width)
        previous, current = self.stem.cell0.outputs, self.stem.cell1.outputs
        halved = True
        for stage in range(3):
            cells = nn.ModuleList()
            for _ in range(repeats):
                cells.append(NormalCell(previous, current, width << stage, halved))
                previous, current, halved = current, cells[-1].outputs, False
            setattr(self, f"stage{stage}", cells)
            if stage < 2:
                reduction = ReductionCell(previous, current, width << (stage + 1))
                setattr(self, f"reduction{stage + 1}", reduction)
                previous, current, halved = current, reduction.outputs, True
        self.classifier = nn.Linear(current, classes)

    def forward(self, image):
        previous, current = self.stem(image)
        for stage in (self.stage0, [self.reduction1], self.stage1, [self.reduction2], self.stage2):
            for cell in stage:
                previous, current = current, cell(previous, current)
        return self.classifier(current[1].mean([2, 3]))
