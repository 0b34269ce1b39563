"""The configuration of vLLM that its scheduler and its KV cache manager read."""

import inspect
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any


class Namespace(SimpleNamespace):
    """A namespace whose missing attributes are None."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        setattr(self, name, None)  # found at once the next time


@dataclass
class Speculation:
    """Speculative decoding."""

    #: Drafted tokens of a step.
    tokens: int
    #: Returns how many drafts are accepted of a request (its id) that has sampled so many tokens.
    accepted: Any
    #: Whether a model or a layer of one drafts.
    lookahead: bool = False
    #: Whether a layer of the model drafts.
    mtp: bool = False

    def config(self):
        """`SpeculativeConfig`."""
        mtp, is_model = self.mtp, self.lookahead and not self.mtp
        return Namespace(
            num_speculative_tokens=self.tokens,
            method="mtp" if mtp else "ngram",
            use_eagle=lambda: mtp,
            uses_draft_model=lambda: is_model,
            use_ngram_gpu=lambda: False,
            uses_extract_hidden_states=lambda: False,
            use_dflash=lambda: False,
            use_dspark=lambda: False,
            use_eagle_block_drop=lambda: mtp,
            needs_eagle_block_drop=lambda: mtp,
            # A draft model runs over the tokens of the step and one more of each request.
            max_num_new_slots_for_drafting=int(is_model),
        )


@dataclass
class Settings:
    """Settings of a server, named as those of vLLM."""

    max_num_seqs: int
    max_num_batched_tokens: int
    max_model_len: int
    #: KV blocks that requests can hold.
    kv_blocks: int
    block_size: int = 16
    long_prefill_token_threshold: int = 0
    policy: str = "fcfs"
    prefix_caching: bool = True
    watermark: float = 0.0
    reserve_full_isl: bool = True
    asynchronous: bool = True
    speculation: Speculation | None = None
    #: The kind of each layer of the model, and the length of windows and chunks.
    layers: list[str] = field(default_factory=lambda: ["full_attention"])
    window: int = 0
    chunk: int = 0
    #: Pipeline stages.
    stages: int = 1
    #: A subclass of vLLM's scheduler; vLLM's own without it.
    scheduler_cls: type | None = None
    #: Other settings by name, such as `scheduler_config.prefill_schedule_interval`.
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def batches(self):
        """Batches in flight."""
        return self.stages if self.stages > 1 else 2 if self.asynchronous else 1

    @property
    def has_mtp(self):
        """Whether a layer of the model drafts tokens."""
        return bool(self.speculation and self.speculation.mtp)

    def config(self, vllm):
        """`VllmConfig`."""
        spec = self.speculation
        # 0.33 hashes the next token in place of dropping a block.
        hashed_ahead = int(self.has_mtp and self.prefix_caching and vllm.release >= (0, 33))
        config = Namespace(
            scheduler_config=Namespace(
                max_num_seqs=self.max_num_seqs,
                max_num_batched_tokens=self.max_num_batched_tokens,
                max_model_len=self.max_model_len,
                long_prefill_token_threshold=self.long_prefill_token_threshold,
                policy=self.policy,
                enable_chunked_prefill=True,
                chunked_prefill_enabled=True,
                async_scheduling=self.asynchronous,
                num_lookahead_slots=0,
                disable_hybrid_kv_cache_manager=False,
                max_num_encoder_input_tokens=0,
                encoder_cache_size=0,
                scheduler_reserve_full_isl=self.reserve_full_isl,
                watermark=self.watermark,
                prefill_schedule_interval=1,
                max_num_partial_prefills=1,
                long_prefill_token_threshold_adaptive=False,
            ),
            cache_config=Namespace(
                block_size=self.block_size,
                num_gpu_blocks=self.kv_blocks + 1,
                enable_prefix_caching=self.prefix_caching,
                mamba_cache_mode="none",
                kv_sharing_fast_prefill=False,
                get_resolved_kv_cache_layout=lambda: Namespace(is_block_outermost=False),
            ),
            attention_config=Namespace(hisparse_config=None),
            model_config=Namespace(
                is_encoder_decoder=False,
                max_model_len=self.max_model_len,
                uses_mrope=False,
                enable_return_routed_experts=False,
                is_multimodal_model=False,
                skip_tokenizer_init=True,
                is_diffusion=False,
            ),
            parallel_config=Namespace(
                pipeline_parallel_size=self.stages,
                tensor_parallel_size=1,
                data_parallel_rank=0,
                data_parallel_index=0,
                data_parallel_size=1,
                decode_context_parallel_size=1,
                prefill_context_parallel_size=1,
            ),
            observability_config=Namespace(kv_cache_metrics=False, enable_mfu_metrics=False),
            speculative_config=spec and spec.config(),
            num_speculative_tokens=spec.tokens if spec else 0,
            is_mm_encoder_only=False,
            num_lookahead_tokens=spec.tokens if spec and spec.lookahead else 0,
            num_prefill_lookahead_tokens=int(self.has_mtp),
            num_hash_lookahead_tokens=hashed_ahead,
            use_v2_model_runner=False,
            max_concurrent_batches=self.batches,
            aux_output_config=Namespace(enabled=False),
            max_in_flight_tokens=self.max_num_batched_tokens * self.batches,
            ec_manager_config=Namespace(get_encoder_cache_manager_obj=lambda: None),
        )
        for name, value in self.extra.items():
            where, name = name.split(".")
            setattr(getattr(config, where), name, value)
        return config

    def groups(self, vllm, config):
        """The KV cache groups of the layers."""
        # The layer that drafts is like the last one.
        kinds = self.layers + (self.layers[-1:] if self.has_mtp else [])
        specs = {f"layer.{number}": self._spec(vllm, kind) for number, kind in enumerate(kinds)}
        return vllm.planner.get_kv_cache_groups(config, specs)

    def _spec(self, vllm, kind):
        """The KV cache of a layer."""
        heads = dict(block_size=self.block_size, num_kv_heads=1, head_size=1, dtype=None, use_mla=False)
        # Without prefix caching a state is one block, as large as the others.
        state = dict(
            block_size=-(-self.max_model_len // self.block_size) * self.block_size,
            shapes=((1,),),
            dtypes=(None,),
            page_size_padded=2 * 2 * self.block_size,
            num_speculative_blocks=self.speculation.tokens if self.speculation else 0,
        )
        of, more = {
            "full_attention": (vllm.FullAttentionSpec, {}),
            "latent_attention": (vllm.MLAAttentionSpec, dict(head_size=576, cache_dtype_str="auto")),
            "indexer": (vllm.MLAAttentionSpec, dict(head_size=132)),
            "sliding_attention": (vllm.SlidingWindowSpec, dict(sliding_window=self.window)),
            "chunked_attention": (vllm.ChunkedLocalAttentionSpec, dict(attention_chunk_size=self.chunk)),
            "linear_attention": (vllm.MambaSpec, state),
        }[kind]
        return of(**taken(of.__init__, heads | more))


def taken(function, arguments):
    """The arguments that a function of this version has."""
    takes = inspect.signature(function).parameters
    return {name: value for name, value in arguments.items() if name in takes}
