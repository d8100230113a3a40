"""The model families whose unstated defaults are known: what a config leaves to the modelling code.

Read from the configuration and modelling files of transformers 5.23 unless a line says otherwise. A family
that is not here is read as far as its config states things outright; the rest stays unknown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from surefoot.checkpoints.architecture import Mixer


@dataclass(frozen=True)
class Family:
    """`window`: which layers use `sliding_window` when no list says so (`all`, `every:N` all but each Nth,
    `after-max-window-layers`, `none`). `linear`: what `linear_attention` in a layer list means.
    `expert_width`: the key of an expert's width. `implied_shared`: shared experts that no key names."""

    name: str
    window: str = "none"
    linear: Mixer = Mixer.UNKNOWN
    expert_width: str = "moe_intermediate_size"
    implied_shared: int = 0
    gated_mlp: bool = True
    attention_bias: bool = False


_FAMILIES: tuple[tuple[str, Family], ...] = (
    (r"llama4(_text)?", Family("llama4", "every:4", expert_width="intermediate_size", implied_shared=1)),
    (r"llama", Family("llama")),
    (r"mistral|ministral", Family("mistral", "all")),
    (r"mistral3|mistral4|mixtral", Family("mixtral", "all", expert_width="intermediate_size")),
    (r"qwen2(_moe|_vl|_5_vl)?(_text)?", Family("qwen2", "after-max-window-layers", attention_bias=True)),
    (r"qwen3(_moe|_vl|_vl_moe|_omni_moe)?(_text)?", Family("qwen3", "after-max-window-layers")),
    (r"qwen3_next|qwen3_[5-9](_moe)?(_text)?", Family("qwen3_5", linear=Mixer.GDN)),
    (r"deepseek_(v2|v3|v32)|kimi_k2", Family("deepseek_v3")),
    (r"deepseek_(v4|ref)", Family("deepseek_v4")),
    (r"kimi_(linear|k3)(_text)?", Family("kimi_linear", linear=Mixer.KDA)),
    (r"glm4?(_moe|_moe_lite|v|v_moe)?(_text)?|glm_moe_dsa", Family("glm")),
    (r"minimax_(m2|m3|m3_vl)(_text)?", Family("minimax_m", expert_width="intermediate_size")),
    (r"minimax(_m1|_text_01)?", Family("minimax", linear=Mixer.LINEAR, expert_width="intermediate_size")),
    (r"gpt_oss", Family("gpt_oss", "every:2", expert_width="intermediate_size", attention_bias=True)),
    (r"gemma2(_text)?", Family("gemma2", "every:2")),
    (r"gemma3n?(_text)?|gemma4\w*", Family("gemma", "every:6")),
    (r"cohere2", Family("cohere2", "every:4")),
    (r"nemotron_h", Family("nemotron_h", gated_mlp=False)),
    (r"nemotron", Family("nemotron", gated_mlp=False)),
    (r"nemotron-nas|deci", Family("nemotron-nas")),
    (r"mimo(_v2_flash)?", Family("mimo")),
    (r"step3p[57](_flash)?|step3_5", Family("step3")),
    (r"phi3|phimoe|olmo[23]?|granite(moe)?|exaone4|smollm3|seed_oss|ernie4_5(_moe)?", Family("plain", "all")),
    (r"lfm2(_moe)?", Family("lfm2")),
)


def family_of(model_type: str | None, classes: tuple[str, ...]) -> Family | None:
    """The family of a text model, None when it is not known. DeepSeek V4 conversions keep their class under
    a model type that older engines accept, so the class decides there."""
    if any(name.startswith("DeepseekV4") for name in classes):
        model_type = "deepseek_v4"
    for pattern, family in _FAMILIES:
        if model_type is not None and re.fullmatch(pattern, model_type):
            return family
    return None
