"""Modules as users write them: functional, nested, with branches, in place."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

# A module, and the shapes of its inputs without the batch.
Written: TypeAlias = tuple[Callable[[], nn.Module], tuple[tuple[int, ...], ...]]


class Residual(nn.Module):
    """ResNet's block, its shortcut a convolution where sizes differ."""

    def __init__(self, inner: int, outer: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outer)
        self.conv2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outer)
        self.shortcut: nn.Module | None = None
        if stride != 1 or inner != outer:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer)
            )

    def forward(self, x: Tensor) -> Any:
        identity = x
        out = F.silu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.shortcut is not None:
            identity = self.shortcut(x)
        out += identity
        return F.silu(out)


class ResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.Sequential(Residual(2, 2, 1), Residual(2, 4, 2))
        self.fc = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Any:
        x = self.blocks(x)
        x = F.adaptive_avg_pool2d(x, 1)
        return self.fc(torch.flatten(x, 1))


class LeNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 2, 3)
        self.conv2 = nn.Conv2d(2, 3, 2)
        self.fc1 = nn.Linear(12, 6)
        self.fc2 = nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Any:
        x = F.avg_pool2d(torch.tanh(self.conv1(x)), 2)
        x = torch.tanh(self.conv2(x))
        x = x.view(x.size(0), -1)
        x = torch.tanh(self.fc1(x))
        return self.fc2(x)


class Mnist(nn.Module):
    """PyTorch's example, without the log of its softmax."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 2, 3, 1)
        self.dropout1 = nn.Dropout(0.25)
        self.fc1 = nn.Linear(18, 4)

    def forward(self, x: Tensor) -> Any:
        x = self.conv1(x)
        x = F.relu(x)
        x = F.max_pool2d(x, 2)
        x = self.dropout1(x)
        x = torch.flatten(x, 1)
        return self.fc1(x)


class SqueezeExcite(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Conv2d(4, 2, 1)
        self.fc2 = nn.Conv2d(2, 4, 1)

    def forward(self, x: Tensor) -> Any:
        scale = x.mean((2, 3), keepdim=True)
        scale = F.silu(self.fc1(scale))
        return x * torch.sigmoid(self.fc2(scale))


class Inception(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.branch1 = nn.Conv2d(2, 2, 1)
        self.branch3 = nn.Sequential(nn.Conv2d(2, 1, 1), nn.Conv2d(1, 2, 3, padding=1))

    def forward(self, x: Tensor) -> Any:
        branches = [self.branch1(x), self.branch3(x), F.avg_pool2d(x, 3, stride=1, padding=1)]
        return F.gelu(torch.cat(branches, dim=1))


class Dense(nn.Module):
    """DenseNet's block: every layer sees all before it."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv2d(2 + 2 * i, 2, 3, padding=1) for i in range(3))

    def forward(self, x: Tensor) -> Any:
        features = [x]
        for layer in self.layers:
            features.append(torch.tanh(layer(torch.cat(features, 1))))
        return torch.cat(features, 1)


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Conv2d(1, 3, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(3, 1, 2, stride=2)
        self.out = nn.Conv2d(2, 1, 1)

    def forward(self, x: Tensor) -> Any:
        y = F.silu(self.down(x))
        y = self.up(y)
        return self.out(torch.cat([x, y], dim=1))


class MobileBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(2, 4, 1, bias=False),
            nn.BatchNorm2d(4),
            nn.Hardswish(inplace=True),
            nn.Conv2d(4, 4, 3, padding=1, groups=4, bias=False),
            nn.BatchNorm2d(4),
            nn.Conv2d(4, 2, 1, bias=False),
        )
        self.use_res_connect = True

    def forward(self, x: Tensor) -> Any:
        if self.use_res_connect:
            return x + self.conv(x)
        return self.conv(x)


class Mixer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.tokens = nn.Linear(4, 4)
        self.channels = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Any:
        y = self.norm(x).transpose(1, 2)
        x = x + self.tokens(y).transpose(1, 2)
        return x + F.gelu(self.channels(x))


class SelfAttention(nn.Module):
    """Attention as minGPT has it, its mask in a buffer."""

    bias: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.c_attn = nn.Linear(4, 12)
        self.c_proj = nn.Linear(4, 4)
        self.n_head, self.n_embd = 2, 4
        self.register_buffer("bias", torch.tril(torch.ones(3, 3)).view(1, 1, 3, 3))

    def forward(self, x: Tensor) -> Any:
        B, T, C = x.size()  # noqa: N806
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        att = F.softmax(att, dim=-1)
        y = att @ v
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y)


class Patches(nn.Module):
    """The first layers of a vision transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.proj = nn.Conv2d(1, 4, 2, stride=2)
        self.cls_token = nn.Parameter(torch.randn(1, 1, 4))
        self.pos_embed = nn.Parameter(torch.randn(1, 5, 4))

    def forward(self, x: Tensor) -> Any:
        x = self.proj(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1)
        x = x + self.pos_embed
        return x[:, 0] * x[:, 1:].mean(1)


class SwiGlu(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w1, self.w2, self.w3 = nn.Linear(4, 6), nn.Linear(6, 4), nn.Linear(4, 6)

    def forward(self, x: Tensor) -> Any:
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class LlamaNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(6) + 0.5)
        self.eps = 1e-3

    def forward(self, x: Tensor) -> Any:
        variance = x.pow(2).mean(-1, keepdim=True)
        return self.weight * (x * torch.rsqrt(variance + self.eps))


class OwnSoftmax(nn.Module):
    def forward(self, x: Tensor) -> Any:
        e = torch.exp(x - x.mean(-1, keepdim=True))
        return e * torch.reciprocal(e.sum(-1, keepdim=True))


class Rotary(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inv_freq = 1.0 / (10 ** (torch.arange(0, 4, 2).float() / 4))

    def forward(self, x: Tensor) -> Any:
        t = torch.arange(x.shape[1], dtype=torch.float32)
        freqs = torch.outer(t, self.inv_freq)
        emb = torch.cat((freqs, freqs), dim=-1)
        x1, x2 = x[..., :2], x[..., 2:]
        rotated = torch.cat((-x2, x1), dim=-1)
        return x * emb.cos() + rotated * emb.sin()


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.i2h = nn.Linear(5, 3)
        self.h2o = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Any:
        hidden = torch.zeros(x.shape[0], 3)
        for t in range(x.shape[1]):
            combined = torch.cat((x[:, t], hidden), 1)
            hidden = torch.tanh(self.i2h(combined))
        return self.h2o(hidden)


class GatedUnit(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.x2h, self.h2h = nn.Linear(2, 9), nn.Linear(3, 9)

    def forward(self, x: Tensor, h: Tensor) -> Any:
        r1, z1, n1 = self.x2h(x).chunk(3, 1)
        r2, z2, n2 = self.h2h(h).chunk(3, 1)
        r, z = torch.sigmoid(r1 + r2), torch.sigmoid(z1 + z2)
        n = torch.tanh(n1 + r * n2)
        return (1 - z) * n + z * h


class Siamese(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(6, 4), nn.Tanh())

    def forward_once(self, x: Tensor) -> Any:
        return self.embed(x)

    def forward(self, left: Tensor, right: Tensor) -> Any:
        difference = self.forward_once(left) - self.forward_once(right)
        return difference.square().sum(dim=1, keepdim=True)


class Outputs(NamedTuple):
    mean: Tensor
    spread: Tensor


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.mu, self.sigma = nn.Linear(6, 4), nn.Linear(4, 2), nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Outputs:
        h = F.softplus(self.body(x))
        return Outputs(mean=self.mu(h), spread=torch.exp(0.5 * self.sigma(h)))


class Multitask(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Linear(6, 4)
        self.heads = nn.ModuleDict({"age": nn.Linear(4, 1), "kind": nn.Linear(4, 3)})

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        h = F.elu(self.trunk(x), inplace=True)
        return {name: head(h) for name, head in self.heads.items()}


class Moe(nn.Module):
    """Experts weighted by a gate."""

    def __init__(self) -> None:
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(4, 2) for _ in range(3))
        self.gate = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Any:
        weights = torch.sigmoid(self.gate(x))
        outputs = torch.stack([expert(x) for expert in self.experts], dim=1)
        return (weights.unsqueeze(-1) * outputs).sum(dim=1)


class Factorised(nn.Module):
    """A factorisation machine."""

    def __init__(self) -> None:
        super().__init__()
        self.V = nn.Parameter(torch.randn(6, 3))
        self.lin = nn.Linear(6, 1)

    def forward(self, x: Tensor) -> Any:
        out_1 = torch.matmul(x, self.V).pow(2).sum(1, keepdim=True)
        out_2 = torch.matmul(x.pow(2), self.V.pow(2)).sum(1, keepdim=True)
        return 0.5 * (out_1 - out_2) + self.lin(x)


class Bilinear(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 4, 5))

    def forward(self, x: Tensor, y: Tensor) -> Any:
        return torch.einsum("bi,kij,bj->bk", x, self.weight, y)


class Scaled(nn.Module):
    """Normalises by known numbers, in place."""

    mean: Tensor
    std: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.4, 0.5]).view(1, -1, 1, 1))
        self.register_buffer("std", torch.tensor([0.2, 0.3]).view(1, -1, 1, 1))

    def forward(self, x: Tensor) -> Any:
        x = x.clone()
        x.sub_(self.mean).div_(self.std)
        return x.mul_(2).add_(1)


class HalfShift(nn.Module):
    """Moves a part of the channels along time (TSM)."""

    def forward(self, x: Tensor) -> Any:
        out = torch.zeros_like(x)
        out[:, :-1, :2] = x[:, 1:, :2]
        out[:, 1:, 2:3] = x[:, :-1, 2:3]
        out[:, :, 3:] = x[:, :, 3:]
        return out


class Shuffled(nn.Module):
    """ShuffleNet's channels."""

    def forward(self, x: Tensor) -> Any:
        b, c, h, w = x.shape
        x = x.view(b, 2, c // 2, h, w)
        x = torch.transpose(x, 1, 2).contiguous()
        return x.view(b, -1, h, w)


class SuperResolution(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.pixel_shuffle = nn.PixelShuffle(2)

    def forward(self, x: Tensor) -> Any:
        up = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        return up + self.pixel_shuffle(self.conv(x))


class Wave(nn.Module):
    """WaveNet's gate, causal by padding."""

    def __init__(self) -> None:
        super().__init__()
        self.filter = nn.Conv1d(2, 2, 2, dilation=2)
        self.gate = nn.Conv1d(2, 2, 2, dilation=2)

    def forward(self, x: Tensor) -> Any:
        padded = F.pad(x, (2, 0))
        return x + torch.tanh(self.filter(padded)) * torch.sigmoid(self.gate(padded))


class Pyramid(nn.Module):
    def forward(self, x: Tensor) -> Any:
        pooled = [F.adaptive_avg_pool2d(x, size).flatten(1) for size in (1, 2, 3)]
        return torch.hstack(pooled)


class Horner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.coefficients = nn.Parameter(torch.tensor([0.5, -1.0, 0.25]))

    def forward(self, x: Tensor) -> Any:
        result = torch.zeros_like(x)
        for c in self.coefficients:
            result = result * x + c
        return result


class Kernel(nn.Module):
    """Radial basis functions."""

    def __init__(self) -> None:
        super().__init__()
        self.centres = nn.Parameter(torch.rand(3, 6))

    def forward(self, x: Tensor) -> Any:
        distance = (x.unsqueeze(1) - self.centres).pow(2).sum(-1)
        return torch.exp(-distance)


class Highway(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.plain, self.gate = nn.Linear(5, 5), nn.Linear(5, 5)

    def forward(self, x: Tensor) -> Any:
        t = self.gate(x).sigmoid_()
        return torch.lerp(x, self.plain(x).tanh_(), t)


class Cross(nn.Module):
    """The cross layers of a recommender."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.ModuleList(nn.Linear(5, 5) for _ in range(2))

    def forward(self, x: Tensor) -> Any:
        x0 = x
        for layer in self.w:
            x = torch.addcmul(x, x0, layer(x))
        return x


class OneHot(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(5, 3)
        self.fc = nn.Linear(6, 2)

    def forward(self, words: Tensor) -> Any:
        vectors = words @ self.emb.weight
        return self.fc(vectors.reshape(len(words), -1))


class Normed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))

    def forward(self, x: Tensor) -> Any:
        return F.leaky_relu_(self.fc(x), 0.1)


class LateFusion(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.image, self.table = nn.Conv2d(1, 2, 3), nn.Linear(3, 8)

    def forward(self, image: Tensor, table: Tensor | None = None) -> Any:
        features = self.image(image).flatten(start_dim=1)
        if table is not None:
            features = features + self.table(table)
        return F.mish(features)


class Frozen(nn.Module):
    """A head on layers that were not trained along, each in the precision of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone, self.head = nn.Linear(6, 5), nn.Linear(5, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            features = self.backbone(x)
            features += 1
        with torch.autocast("cpu", enabled=False):
            scores: torch.Tensor = self.head(features * features)
        return scores


class ArgMax(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Any:
        scores = self.fc(x)
        return scores.argmax(dim=1)


class LogProbabilities(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Any:
        return F.log_softmax(self.fc(x), dim=1)


class Branch(nn.Module):
    def forward(self, x: Tensor) -> Any:
        if x.sum() > 0:
            return x
        return -x


class Loop(nn.Module):
    def forward(self, x: Tensor) -> Any:
        while float(x.abs().max()) > 1:
            x = x / 2
        return x


class Threshold(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return torch.where(x > 0.5, x, torch.zeros_like(x))


class Indexed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(5, 3)

    def forward(self, words: Tensor) -> Any:
        return self.emb(words.long()).flatten(1)


class Cosine(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Any:
        y = self.fc(x)
        return y / y.norm(dim=1, keepdim=True)


class Noisy(nn.Module):
    def forward(self, x: Tensor) -> Any:
        noise = torch.randn_like(x)
        return x + 0.1 * noise


class AlwaysDropped(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return F.dropout(x, 0.5)


class TopTwo(nn.Module):
    def forward(self, x: Tensor) -> Any:
        values, _ = torch.topk(x, 2, dim=1)
        return values


class Spectrum(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return torch.fft.rfft(x).abs()


class OverBatch(nn.Module):
    def forward(self, x: Tensor) -> Any:
        centred = x - x.mean(dim=0, keepdim=True)
        return centred * 2


class Memory(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 3, batch_first=True)

    def forward(self, x: Tensor) -> Any:
        output, _ = self.lstm(x)
        return output[:, -1]


class Rounded(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return torch.round(x * 4) / 4


class ThroughNumpy(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return torch.from_numpy(x.detach().numpy() * 2)


class FlattenedBatch(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return x.view(-1)


IMAGE, SMALL, VECTOR, TOKENS = (2, 4, 4), (1, 4, 4), (6,), (3, 4)
COMPILED: Mapping[str, Written] = {
    "ResNet": (ResNet, (IMAGE,)),
    "LeNet": (LeNet, ((1, 8, 8),)),
    "MNIST": (Mnist, ((1, 8, 8),)),
    "squeeze and excite": (SqueezeExcite, ((4, 3, 3),)),
    "Inception": (Inception, (IMAGE,)),
    "DenseNet": (Dense, (IMAGE,)),
    "U-Net": (UNet, (SMALL,)),
    "MobileNet": (MobileBlock, (IMAGE,)),
    "MLP-Mixer": (Mixer, ((4, 8),)),
    "minGPT": (SelfAttention, (TOKENS,)),
    "ViT": (Patches, (SMALL,)),
    "SwiGLU": (SwiGlu, ((4,),)),
    "Llama's norm": (LlamaNorm, (VECTOR,)),
    "own softmax": (OwnSoftmax, (VECTOR,)),
    "rotary": (Rotary, (TOKENS,)),
    "recurrent": (Recurrent, ((3, 2),)),
    "GRU": (GatedUnit, ((2,), (3,))),
    "siamese": (Siamese, (VECTOR, VECTOR)),
    "encoder": (Encoder, (VECTOR,)),
    "multitask": (Multitask, (VECTOR,)),
    "experts": (Moe, ((4,),)),
    "factorisation machine": (Factorised, (VECTOR,)),
    "bilinear": (Bilinear, ((4,), (5,))),
    "scaled": (Scaled, (IMAGE,)),
    "temporal shift": (HalfShift, ((3, 5),)),
    "ShuffleNet": (Shuffled, ((4, 2, 2),)),
    "super resolution": (SuperResolution, (SMALL,)),
    "WaveNet": (Wave, ((2, 6),)),
    "pyramid": (Pyramid, (IMAGE,)),
    "Horner": (Horner, (VECTOR,)),
    "radial basis": (Kernel, (VECTOR,)),
    "highway": (Highway, ((5,),)),
    "cross": (Cross, ((5,),)),
    "one-hot": (OneHot, ((2, 5),)),
    "weight norm": (Normed, ((4,),)),
    "cosine": (Cosine, (VECTOR,)),
    "late fusion": (LateFusion, (SMALL, (3,))),
    "frozen": (Frozen, (VECTOR,)),
    "log of softmax": (LogProbabilities, (VECTOR,)),
    "LSTM": (Memory, (TOKENS,)),
}
# With the line that cannot be computed.
REFUSED: Mapping[str, tuple[Written, str]] = {
    "argmax": ((ArgMax, (VECTOR,)), "return scores.argmax(dim=1)"),
    "branch": ((Branch, (VECTOR,)), "if x.sum() > 0:"),
    "loop": ((Loop, (VECTOR,)), "while float(x.abs().max()) > 1:"),
    "threshold": ((Threshold, (VECTOR,)), "return torch.where(x > 0.5, x, torch.zeros_like(x))"),
    "indexed": ((Indexed, ((2,),)), "return self.emb(words.long()).flatten(1)"),
    "noisy": ((Noisy, (VECTOR,)), "noise = torch.randn_like(x)"),
    "always dropped": ((AlwaysDropped, (VECTOR,)), "return F.dropout(x, 0.5)"),
    "top two": ((TopTwo, (VECTOR,)), "values, _ = torch.topk(x, 2, dim=1)"),
    "spectrum": ((Spectrum, (VECTOR,)), "return torch.fft.rfft(x).abs()"),
    "over the batch": ((OverBatch, (VECTOR,)), "centred = x - x.mean(dim=0, keepdim=True)"),
    "rounded": ((Rounded, (VECTOR,)), "return torch.round(x * 4) / 4"),
    "through numpy": (
        (ThroughNumpy, (VECTOR,)),
        "return torch.from_numpy(x.detach().numpy() * 2)",
    ),
    "flattened batch": ((FlattenedBatch, (VECTOR,)), "return x.view(-1)"),
}
