"""Mixture of experts: its shape, and which layers have it."""

from __future__ import annotations

from surefoot.checkpoints.architecture import Mlp, Moe
from surefoot.checkpoints.config import MAX_LAYERS, ConfigReader
from surefoot.checkpoints.families import Family
from surefoot.evidence import Method

_EXPERTS = ("n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts")
_TOP_K = (
    "num_experts_per_tok", "num_experts_per_token", "top_k_experts", "experts_per_token", "moe_top_k",
    "moe_topk",
)  # fmt: skip
_SHARED_SIZE = (
    "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size", "shared_intermediate_size",
    "share_expert_dim",
)  # fmt: skip


def read_moe(reader: ConfigReader, family: Family | None) -> Moe | None:
    """The experts' shape, None for a dense model."""
    experts = reader.integer("routed_experts", *_EXPERTS)
    if experts is None:
        return None
    width = ["moe_intermediate_size"]
    if family is not None and family.expert_width not in width:
        width.append(family.expert_width)
    expert_size = reader.integer("expert_size", *width)
    shared, shared_size = _shared(reader, family, expert_size)
    return Moe(
        experts=experts,
        top_k=reader.integer("top_k", *_TOP_K, maximum=experts),
        expert_size=expert_size,
        shared=shared,
        shared_size=shared_size,
        latent_size=reader.integer("moe_latent_size"),
        first_dense=reader.integer("first_k_dense_replace", minimum=0),
        frequency=reader.integer("moe_layer_freq", odd=False),
    )


def _shared(reader: ConfigReader, family: Family | None, expert_size: int | None) -> tuple[int | None, int | None]:
    """Number of shared experts and the width of all of them together; (0, 0) when the config says none."""
    shared = reader.integer("shared_experts", "n_shared_experts", "num_shared_experts", minimum=0)
    size = reader.integer("shared_expert_size", *_SHARED_SIZE, minimum=0)
    if shared is None and size is not None:
        shared = int(size > 0)
        reader.note("shared_experts", shared, "a shared expert width is given", Method.COMPUTED)
    if shared is None and family is not None:
        shared = family.implied_shared
        reader.note("shared_experts", shared, f"the {family.name} family", Method.ASSUMED)
    if shared and size is None and expert_size is not None:
        size = shared * expert_size
        reader.note("shared_expert_size", size, "shared experts x expert size", Method.COMPUTED)
    return shared, size if shared else shared


def mlp_kinds(reader: ConfigReader, moe: Moe | None, count: int) -> tuple[Mlp, ...]:
    """The MLP kind of each of `count` layers, for families whose layers are a mixer and an MLP."""
    if moe is None:
        return (Mlp.DENSE,) * count
    if reader.boolean("enable_moe_block"):
        return (Mlp.BOTH,) * count
    named = reader.sequence("mlp_layer_types")
    if named is not None:
        kinds = {"dense": Mlp.DENSE, "sparse": Mlp.MOE, "moe": Mlp.MOE, "hash_moe": Mlp.MOE}
        return _padded(
            [kinds.get(name, Mlp.UNKNOWN) if isinstance(name, str) else Mlp.UNKNOWN for name in named], count
        )
    listed = reader.sequence("moe_layer_freq")
    if listed is not None:
        return _padded([Mlp.MOE if entry == 1 else Mlp.DENSE for entry in listed], count)
    chosen = reader.sequence("moe_layers")
    if chosen is not None:
        return tuple(Mlp.MOE if index in chosen else Mlp.DENSE for index in range(count))
    return _periodic(reader, moe, count)


def _padded(kinds: list[Mlp], count: int) -> tuple[Mlp, ...]:
    return tuple((kinds + [Mlp.UNKNOWN] * count)[:count])


def _periodic(reader: ConfigReader, moe: Moe, count: int) -> tuple[Mlp, ...]:
    """Dense layers first (DeepSeek), each Nth sparse (`decoder_sparse_step`, Llama 4), some dense by name."""
    step = reader.integer("moe_step", "decoder_sparse_step", "interleave_moe_layer_step", maximum=MAX_LAYERS)
    dense_only = set()
    for entry in reader.sequence("mlp_only_layers") or []:
        if isinstance(entry, int):
            dense_only.add(entry)
    first, frequency = moe.first_dense or 0, moe.frequency or 1
    kinds = []
    for index in range(count):
        sparse = index >= first and index % frequency == 0 and index not in dense_only
        kinds.append(Mlp.MOE if sparse and (index + 1) % (step or 1) == 0 else Mlp.DENSE)
    return tuple(kinds)
