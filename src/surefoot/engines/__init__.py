"""What an installed engine can do, from its own files and its own argument resolution."""

from surefoot.engines.engine import Architecture, Engine, Engines, Plugin, Quantization, RunningEngine
from surefoot.engines.limits import Situation, judge_limits
from surefoot.engines.resolve import Resolution, resolve_arguments

__all__ = [
    "COLLECTOR",
    "Architecture",
    "Engine",
    "Engines",
    "Plugin",
    "Quantization",
    "Resolution",
    "RunningEngine",
    "Situation",
    "judge_limits",
    "resolve_arguments",
]

COLLECTOR = "surefoot.engines.probe.engine"
"""The module that collects the engines on the host being asked."""
