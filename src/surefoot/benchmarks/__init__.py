"""Prompts, speed, tau and losslessness: which strategy wins here, and why."""
