"""Surefoot: will this model run here with this drafter, how is it launched, and which strategy is fastest.

Importing this package loads neither torch nor transformers.
"""

from surefoot.errors import SurefootError
from surefoot.evidence import Fact, Finding, Level, Method, Verdict

__all__ = ["Fact", "Finding", "Level", "Method", "SurefootError", "Verdict", "__version__"]

__version__ = "0.1.0.dev0"
