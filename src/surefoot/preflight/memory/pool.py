"""How an engine turns what is left into tokens: recurrent state first, then key-value pages.

SGLang: `model_executor/model_runner_kv_cache_mixin.py` of 0.5.11, `mem_cache/kv_cache_configurator.py` of 0.5.23.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from surefoot.preflight.memory.cache import CacheCost
from surefoot.preflight.memory.sglang_defaults import Rules

STATE_SLOTS = 5
"""State slots that SGLang wants for each running request: 3, and 2 more with overlapped scheduling."""
STATE_RATIO = 0.9
"""`--mamba-full-memory-ratio`: bytes of state for each byte of key-value cache, when no size is named."""
SLIDING_RATIO = 0.8
"""`--swa-full-tokens-ratio`: tokens in the sliding pool for each token in the full one."""

SLIDING_POOLS = (
    "Llama4ForConditionalGeneration", "GptOssForCausalLM", "MiMoV2", "Step3p5ForCausalLM", "Gemma4",
)  # fmt: skip
"""Class names (or their beginnings) whose sliding layers SGLang pools apart (`is_hybrid_swa_model`)."""


@dataclass(frozen=True)
class Pool:
    """Bytes of a token in target and drafter, and of recurrent state: `slots` kept, `scratch` during verification."""

    token: int
    state: int = 0
    slots: int = 0
    scratch: int = 0

    @property
    def state_bytes(self) -> int:
        """All recurrent state."""
        return self.state * self.slots + self.scratch

    def tokens(self, rest: int) -> int:
        """Tokens that fit into `rest` bytes after the weights."""
        return max(0, rest - self.state_bytes) // self.token if self.token else 0

    def needed(self, tokens: int) -> int:
        """Bytes after the weights that hold `tokens`."""
        return self.token * tokens + self.state_bytes


def token_bytes(cost: CacheCost, classes: tuple[str, ...]) -> int:
    """What SGLang counts for a token of the target."""
    if cost.sliding and cost.full and any(name.startswith(SLIDING_POOLS) for name in classes):
        return ceil(cost.full + SLIDING_RATIO * cost.sliding)
    return cost.token


def draft_token_bytes(rules: Rules, target: int, target_layers: int, draft: CacheCost | None, draft_layers: int) -> int:
    """What SGLang counts for a token of the drafter: a share of the target's in 0.5.11, its own later."""
    if draft is None:
        return 0
    if rules.exact_draft_cache:
        return draft.token
    if not target_layers:
        return 0
    return (target * (target_layers + draft_layers) + target_layers - 1) // target_layers - target


def planned_pool(rules: Rules, token: int, cost: CacheCost, running: int, width: int) -> Pool:
    """The pool of a plan that names its state slots: `STATE_SLOTS` for each of `running` requests."""
    if not cost.state:
        return Pool(token)
    verified = width if width > 1 else 0
    padding = 0 if rules.scratch_by_running else 1
    slots = running * STATE_SLOTS + padding
    return Pool(token, cost.state, slots, cost.state * (running + padding) * verified)


def default_tokens(rules: Rules, token: int, cost: CacheCost, running: int, width: int, rest: int) -> int:
    """Tokens when nothing is named: recurrent state then takes its ratio of the memory."""
    if not token:
        return 0
    if not cost.state:
        return max(0, rest) // token
    verified = width if width > 1 else 0
    if rules.scratch_by_running:
        rest -= cost.state * running * verified
        return max(0, int(rest / (1 + STATE_RATIO))) // token
    budget = rest * STATE_RATIO / (1 + STATE_RATIO)
    slots = int((budget - cost.state * (1 + verified)) // (cost.state * (1 + verified / STATE_SLOTS)))
    if slots <= 0:
        return 0
    scratch = cost.state * (min(running, slots // STATE_SLOTS) + 1) * verified if verified else 0
    return max(0, int(rest - scratch - (slots + 1) * cost.state)) // token
