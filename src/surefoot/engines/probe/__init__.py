"""The part of the engine readers that runs on the host being asked: standard library only, Python 3.8+."""
