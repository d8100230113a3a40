"""The part of Surefoot that runs on the host being asked: standard library only, Python 3.8 or newer."""
