"""What an installed engine can do, from its own files and its own argument resolution."""

from surefoot.engines.engine import Architecture, Engine, Engines, Plugin, Quantization, RunningEngine

__all__ = [
    "COLLECTOR",
    "Architecture",
    "Engine",
    "Engines",
    "Plugin",
    "Quantization",
    "RunningEngine",
]

COLLECTOR = "surefoot.engines.probe.engine"
"""The module that collects the engines on the host being asked."""
