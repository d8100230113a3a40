"""The tensors of a model folder: safetensors only, one file or shards, each checked as it is taken."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from surefoot.errors import InputError


class Weights:
    """Named tensors of one checkpoint. `source` is named in errors."""

    def __init__(self, tensors: dict[str, Tensor], source: str) -> None:
        self._tensors = tensors
        self._source = source

    def take(self, name: str, *shape: int) -> Tensor:
        """The tensor `name`. Raises `InputError` when it is absent or has another shape."""
        tensor = self._tensors.get(name)
        if tensor is None:
            raise InputError(f"{self._source}: tensor {name} is missing")
        if tuple(tensor.shape) != shape:
            raise InputError(f"{self._source}: {name} has shape {list(tensor.shape)}, config.json means {list(shape)}")
        return tensor


def load_weights(folder: Path, device: torch.device, dtype: torch.dtype) -> Weights:
    """All tensors of `*.safetensors` in `folder`. Raises `InputError` when there are none or one is torn."""
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise InputError(f"{folder}: no .safetensors file there")
    tensors: dict[str, Tensor] = {}
    for file in files:
        try:
            loaded = load_file(file)
        except (SafetensorError, OSError, ValueError) as error:
            raise InputError(f"{file} is torn or unreadable: {error}") from error
        tensors |= {name: tensor.to(device, dtype) for name, tensor in loaded.items()}
    return Weights(tensors, str(folder))
