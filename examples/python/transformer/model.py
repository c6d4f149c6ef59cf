# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Python's own documentation as text, and a small transformer of its characters."""

import pydoc_data.topics

import torch
from torch import Tensor, nn


class Text:
    """The topics of Python's help(), as numbers of characters; the last tenth is not trained on."""

    def __init__(self) -> None:
        text = "\n".join(pydoc_data.topics.topics.values())
        self.characters = sorted(set(text))
        numbers = {character: number for number, character in enumerate(self.characters)}
        encoded = torch.tensor([numbers[character] for character in text])
        self.training, self.held_out = encoded.split([len(encoded) * 9 // 10, len(encoded) - len(encoded) * 9 // 10])

    def batch(self, size: int, length: int, seed: int) -> tuple[Tensor, Tensor]:
        """Random pieces and the characters that follow each of theirs: int64 (size, length), twice."""
        return pieces(self.training, size, length, torch.Generator().manual_seed(seed))

    def held_out_batch(self, size: int, length: int) -> tuple[Tensor, Tensor]:
        return pieces(self.held_out, size, length, torch.Generator().manual_seed(0))


def pieces(text: Tensor, size: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    starts = torch.randint(len(text) - length - 1, (size, 1), generator=generator)
    places = starts + torch.arange(length)
    return text[places], text[places + 1]


class Layer(nn.Module):
    """Attention and a perceptron, each with a layer norm before and a residual connection around it."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.query_key_value = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)
        self.perceptron = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        parts = self.query_key_value(self.norms[0](x)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        attended = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.output(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.perceptron(self.norms[1](x))


class Transformer(nn.Module):
    """Two layers of 192, about a million parameters."""

    def __init__(self, characters: int, length: int, width: int = 192, heads: int = 4, layers: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, width)
        self.position = nn.Parameter(torch.empty(length, width))
        self.layers = nn.ModuleList([Layer(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, characters, bias=False)
        nn.init.normal_(self.position, std=0.02)
        nn.init.normal_(self.embedding.weight, std=0.02)
        nn.init.zeros_(self.head.weight)

    def forward(self, inputs: Tensor) -> Tensor:
        x = self.embedding(inputs) + self.position[: inputs.shape[1]]
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))

    def loss(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """The mean cross-entropy over all characters, in f32."""
        return nn.functional.cross_entropy(self(inputs).flatten(0, 1).float(), targets.flatten())
