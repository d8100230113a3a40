"""Target models, one file each, looked up by the `model_type` of their config."""

from __future__ import annotations

from pathlib import Path

import torch

from surefoot.decoding.model_folder import read_config
from surefoot.decoding.targets.base import Target, TargetOutput
from surefoot.decoding.targets.llama import Llama
from surefoot.decoding.weights import load_weights
from surefoot.errors import InputError

TARGETS = {"llama": Llama}

__all__ = ["TARGETS", "Target", "TargetOutput", "load_target"]


def load_target(folder: Path, device: torch.device, dtype: torch.dtype) -> Target:
    """Load a Hugging Face model folder (config.json and safetensors) as a target.

    Raises:
        InputError: a file is missing or torn, or no target here knows this `model_type`.
    """
    config = read_config(folder)
    model_type = config.get("model_type")
    if model_type not in TARGETS:
        raise InputError(
            f"{folder}: no target for model_type {model_type!r}",
            remedy=f"supported: {', '.join(sorted(TARGETS))}",
        )
    return TARGETS[model_type](config, load_weights(folder, device, dtype))
