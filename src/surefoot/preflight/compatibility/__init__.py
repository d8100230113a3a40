"""Does the engine know this model, can it run it on this GPU, and can it speculate on it? Broad to narrow."""
