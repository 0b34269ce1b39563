"""vLLM's own scheduler and the step functions of its EngineCore on a virtual clock.

The model takes as long as the caller says and samples one token for each request whose known tokens
are computed.
"""

import contextlib
import importlib
import inspect
import math
import pathlib
import pickle
import sys
from collections import deque
from types import SimpleNamespace

import stubs


class Namespace(SimpleNamespace):
    """A namespace whose missing attributes are None."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return


class Future:
    """The output of a step, available at `end_ns`."""

    def __init__(self, clock, end_ns, output):
        self.clock, self.end_ns, self.output = clock, end_ns, output

    def done(self):
        # With pipeline stages it is a FutureWrapper of the executor, which is done when its result was asked for.
        return self.clock.stages == 1 and self.clock.now >= self.end_ns

    def result(self):
        self.clock.now = max(self.clock.now, self.end_ns)
        return self.output


#: Sleep of EngineCoreProc after a schedule without work.
SLEEP_NS = 1_000_000


class Vllm:
    """The classes of one version."""

    #: Classes by module.
    CLASSES = {
        "vllm.v1.core.sched.async_scheduler": ["AsyncScheduler"],
        "vllm.v1.core.sched.scheduler": ["Scheduler"],
        "vllm.v1.engine.core": ["EngineCore"],
        "vllm.v1.kv_cache_interface": [
            "ChunkedLocalAttentionSpec",
            "FullAttentionSpec",
            "KVCacheConfig",
            "MLAAttentionSpec",
            "MambaSpec",
            "SlidingWindowSpec",
        ],
        "vllm.v1.outputs": ["ModelRunnerOutput"],
        "vllm.v1.request": ["Request", "RequestStatus"],
    }

    def __init__(self, root):
        stubs.install(root)
        import xxhash

        self.kv_cache_utils = kv_cache_utils = importlib.import_module("vllm.v1.core.kv_cache_utils")
        for module, names in self.CLASSES.items():
            for name in names:
                setattr(self, name, getattr(importlib.import_module(module), name))

        # The planner of 0.33 has a module of its own.
        has_planner = hasattr(kv_cache_utils, "get_kv_cache_groups")
        self.planner = kv_cache_utils if has_planner else importlib.import_module("vllm.v1.core.kv_cache_planning")
        sys.modules["vllm.v1.kv_cache_interface"].get_dtype_size = lambda _: 2

        self.hash = lambda value: xxhash.xxh3_128_digest(pickle.dumps(value, protocol=5))
        try:
            kv_cache_utils.init_none_hash(self.hash)
        except Exception:  # newer versions accept their own functions only
            kv_cache_utils.NONE_HASH = b"none"
        # 0.11 does not sleep: its loop is EngineCoreProc._process_engine_step.
        source = inspect.getsource(sys.modules[self.EngineCore.__module__])
        self.sleeps = "time.sleep(0.001)" in source
        (info,) = pathlib.Path(root).glob("vllm-*.dist-info")
        self.version = info.name.removeprefix("vllm-").removesuffix(".dist-info")
        self.release = tuple(int(part) for part in self.version.split(".")[:2])
        #: What the API server does with requests beyond `max_model_len` (`get_max_tokens` in 0.33).
        self.truncates = self.release >= (0, 33)
        manager = sys.modules["vllm.v1.core.kv_cache_manager"].KVCacheManager
        self.has_watermark = "watermark" in inspect.signature(manager.__init__).parameters

    def supports(self, workload):
        """Whether a server of this version runs with the settings of `workload`."""
        ahead, spec = workload.asynchronous, workload.spec
        if self.release >= (0, 33) and workload.stages > 1 and (ahead or workload.stages > 2):
            return False  # its model runner refuses the former, and it sleeps before it waits with the latter
        if workload.watermark and not self.has_watermark:
            return False
        if workload.layers and workload.layers.chunk and self.release < (0, 15):
            return False  # it switches the hybrid manager off
        if self.release >= (0, 33) and spec and 0 < workload.threshold <= spec["tokens"]:
            return False  # an assertion of `schedule` fails where the threshold cuts placeholders
        if self.release >= (0, 33) and workload.has_mtp and workload.caching:
            return False  # rooflut does not hash the token after a block
        if self.release < (0, 15):
            return not ahead and (workload.has_mtp or not workload.has_draft_model)
        return not (ahead and spec and spec["model"] == "ngram" and self.release < (0, 33))

    def admitted_tokens(self, row, model_len):
        """The output tokens that the API server asks the engine for; `None` if it rejects the request."""
        room = model_len - row["prompt_tokens"]
        if row["output_tokens"] <= room:
            return row["output_tokens"]
        return room if self.truncates and room > 0 else None


class Engine:
    """One server."""

    def __init__(
        self,
        vllm,
        *,
        max_num_seqs,
        max_num_batched_tokens,
        max_model_len,
        kv_blocks,
        long_prefill_token_threshold=0,
        policy="fcfs",
        prefix_caching=True,
        watermark=0.0,
        reserve_full_isl=True,
        asynchronous=True,
        speculation=None,
        block_size=16,
        layers=None,
        stages=1,
        extra=None,
    ):
        self.vllm = vllm
        self.stages = stages
        batches = stages if stages > 1 else 2 if asynchronous else 1
        extra = extra or {}
        spec = None
        mtp = bool(speculation and speculation["mtp"])
        # `num_hash_lookahead_tokens` of VllmConfig: 0.33 hashes the next token in place of dropping a block.
        self.hashed_ahead = int(mtp and prefix_caching and vllm.release >= (0, 33))
        if speculation:
            spec = Namespace(
                num_speculative_tokens=speculation["tokens"],
                method="mtp" if mtp else "ngram",
                use_eagle=lambda: mtp,
                uses_draft_model=lambda: speculation["lookahead"] and not mtp,
                use_ngram_gpu=lambda: False,
                uses_extract_hidden_states=lambda: False,
                use_dflash=lambda: False,
                use_eagle_block_drop=lambda: mtp,
                needs_eagle_block_drop=lambda: mtp,
                # A draft model runs over the tokens of the step and one more of each request.
                max_num_new_slots_for_drafting=int(speculation["lookahead"] and not mtp),
            )
        self.speculation = speculation
        config = Namespace(
            scheduler_config=Namespace(
                max_num_seqs=max_num_seqs,
                max_num_batched_tokens=max_num_batched_tokens,
                max_model_len=max_model_len,
                long_prefill_token_threshold=long_prefill_token_threshold,
                policy=policy,
                enable_chunked_prefill=True,
                chunked_prefill_enabled=True,
                async_scheduling=asynchronous,
                num_lookahead_slots=0,
                disable_hybrid_kv_cache_manager=False,
                max_num_encoder_input_tokens=0,
                encoder_cache_size=0,
                scheduler_reserve_full_isl=reserve_full_isl,
                watermark=watermark,
                prefill_schedule_interval=1,
                max_num_partial_prefills=1,
                long_prefill_token_threshold_adaptive=False,
            ),
            cache_config=Namespace(
                block_size=block_size,
                num_gpu_blocks=kv_blocks + 1,
                enable_prefix_caching=prefix_caching,
                mamba_cache_mode="none",
                kv_sharing_fast_prefill=False,
                get_resolved_kv_cache_layout=lambda: Namespace(is_block_outermost=False),
            ),
            attention_config=Namespace(hisparse_config=None),
            model_config=Namespace(
                is_encoder_decoder=False,
                max_model_len=max_model_len,
                uses_mrope=False,
                enable_return_routed_experts=False,
                is_multimodal_model=False,
                skip_tokenizer_init=True,
                is_diffusion=False,
            ),
            parallel_config=Namespace(
                pipeline_parallel_size=stages,
                tensor_parallel_size=1,
                data_parallel_rank=0,
                data_parallel_index=0,
                data_parallel_size=1,
                decode_context_parallel_size=1,
                prefill_context_parallel_size=1,
            ),
            observability_config=Namespace(kv_cache_metrics=False, enable_mfu_metrics=False),
            speculative_config=spec,
            num_speculative_tokens=speculation["tokens"] if speculation else 0,
            is_mm_encoder_only=False,
            num_lookahead_tokens=speculation["tokens"] if speculation and speculation["lookahead"] else 0,
            num_prefill_lookahead_tokens=int(mtp),
            num_hash_lookahead_tokens=self.hashed_ahead,
            use_v2_model_runner=False,
            max_concurrent_batches=batches,
            aux_output_config=Namespace(enabled=False),
            max_in_flight_tokens=max_num_batched_tokens * batches,
            ec_manager_config=Namespace(get_encoder_cache_manager_obj=lambda: None),
        )
        for name, value in extra.items():
            where, name = name.split(".")
            setattr(getattr(config, where), name, value)
        def spec_of(kind):
            heads = dict(block_size=block_size, num_kv_heads=1, head_size=1, dtype=None, use_mla=False)
            # Without prefix caching a state is one block, as large as the others.
            state = dict(
                block_size=-(-max_model_len // block_size) * block_size,
                shapes=((1,),),
                dtypes=(None,),
                page_size_padded=2 * 2 * block_size,
                num_speculative_blocks=speculation["tokens"] if speculation else 0,
            )
            of, limits = {
                "full_attention": (vllm.FullAttentionSpec, {}),
                "latent_attention": (vllm.MLAAttentionSpec, dict(head_size=576, cache_dtype_str="auto")),
                "indexer": (vllm.MLAAttentionSpec, dict(head_size=132)),
                "sliding_attention": (vllm.SlidingWindowSpec, dict(sliding_window=layers and layers.window)),
                "chunked_attention": (
                    vllm.ChunkedLocalAttentionSpec,
                    dict(attention_chunk_size=layers and layers.chunk),
                ),
                "linear_attention": (vllm.MambaSpec, state),
            }[kind]
            takes = inspect.signature(of.__init__).parameters
            return of(**{name: value for name, value in (heads | limits).items() if name in takes})

        kinds = layers.kinds if layers else ["full_attention"]
        kinds += kinds[-1:] if mtp else []  # the layer that drafts is like the last one
        specs = {f"layer.{number}": spec_of(kind) for number, kind in enumerate(kinds)}
        self.groups = vllm.planner.get_kv_cache_groups(config, specs)
        kv = vllm.KVCacheConfig(
            num_blocks=kv_blocks + 1,
            kv_cache_tensors=[],
            kv_cache_groups=self.groups,
        )
        kv = vllm.kv_cache_utils.generate_scheduler_kv_cache_config([kv])
        kind = vllm.AsyncScheduler if asynchronous else vllm.Scheduler
        # `resolve_kv_cache_block_sizes` of 0.33: steps are scheduled in multiples of all blocks.
        sizes = [group.kv_cache_spec.block_size for group in self.groups]
        arguments = dict(
            vllm_config=config,
            kv_cache_config=kv,
            block_size=math.lcm(*sizes) if vllm.release >= (0, 33) else block_size,
            log_stats=False,
            structured_output_manager=SimpleNamespace(
                should_advance=lambda request: False,
                accept_tokens=lambda *_, **__: True,
                validate_tokens=lambda _, tokens: tokens,
            ),
            mm_registry=SimpleNamespace(
                supports_multimodal_inputs=lambda *_: False, get_encdec_max_encoder_len=lambda *_: 0
            ),
        )
        takes = inspect.signature(vllm.Scheduler.__init__).parameters
        self.scheduler = kind(**{name: value for name, value in arguments.items() if name in takes})
        self.now = 0
        self.gpu_free = 0
        self.steps = []
        self.known = {}
        self.durations = None
        self.finished = {}
        self.first = {}
        self.preemptions = {}
        # Attributes that the step functions of EngineCore use.
        self.model_executor = self
        self.batch_queue = deque() if batches > 1 else None
        self.batch_queue_size = batches
        self.asynchronous = self.async_scheduling = asynchronous
        self.is_pooling_model = self.is_ec_producer = self.is_mm_encoder_only = False
        self.use_spec_decode = self.check_for_draft_tokens = bool(speculation)
        self.log_error_detail = self.log_iteration_details = self.capture_iteration_details = lambda *_: (
            contextlib.nullcontext()
        )
        self._process_aborts_queue = self._attach_iteration_details = self._attach_weight_version = (
            lambda *_: None
        )
        self._should_throttle_prefills = lambda: False
        self.waits = 0
        core = vllm.EngineCore
        self.step_fn = (core.step_with_batch_queue if batches > 1 else core.step).__get__(self)
        self.post_step = core.post_step.__get__(self)
        self.drafts = {}

    # --- what EngineCore calls ---

    def execute_model_with_error_logging(self, execute, scheduled):
        output = execute(scheduled)
        return output.result() if isinstance(output, Future) else output

    def execute_model(self, scheduled, non_block=False):
        self.pending = self.run(scheduled)
        return self.pending

    def sample_tokens(self, grammar, non_block=False):
        return self.pending

    def take_draft_token_ids(self):
        drafts = self.drafts
        self.drafts = {}
        if not drafts:
            return None
        return SimpleNamespace(req_ids=list(drafts), draft_token_ids=list(drafts.values()))

    # --- the model ---

    def run(self, scheduled):
        """Runs a scheduled step; returns its output."""
        vllm, order = self.vllm, list(scheduled.num_scheduled_tokens)
        tokens, chunks, decodes, kv_tokens, outputs = [], [], [], 0, 0
        for id in order:
            new = scheduled.num_scheduled_tokens[id]
            known = self.known[id]
            request = self.scheduler.requests[id]
            after = request.num_computed_tokens  # as of the end of this step, drafts in flight included
            before = after - new
            drafts = scheduled.scheduled_spec_decode_tokens.get(id, ())
            if id in known["fresh"](scheduled):
                known["target"] = request.num_tokens
            if before < known["target"]:
                drafts = ()  # placeholders, or drafts for other positions: the rejection sampler rejects them
                chunks.append((id, new, before))
                # 0.11 leaves a victim in the step; its model runner discards the token, as the one before is not known.
                samples = after >= known["target"] and request.status != vllm.RequestStatus.PREEMPTED
            else:
                # The GPU computes what follows the tokens that were accepted, whatever the scheduler assumes.
                decodes.append(id)
                kv_tokens += known["prompt"] + known["sampled"] - 1 + new
                samples = True
            sampled = []
            if samples:
                count = 1
                if drafts:
                    count += min(self.speculation["accepted"](id, known["sampled"]), len(drafts))
                outputs += known["sampled"] < known["output"]
                first = known["prompt"] + known["sampled"]
                sampled = [known["text"](first + number) for number in range(count)]
                known["sampled"] += count
            tokens.append(sampled)
            if self.speculation and not self.asynchronous:
                # A draft model runs over the whole batch; n-grams are looked up after a token.
                drafted = sampled or self.speculation["lookahead"]
                self.drafts[id] = [-7] * self.speculation["tokens"] if drafted else []
        output = vllm.ModelRunnerOutput(
            **{
                name: value
                for name, value in dict(
                    req_ids=order,
                    req_id_to_index={id: i for i, id in enumerate(order)},
                    sampled_token_ids=tokens,
                    logprobs=None,
                    prompt_logprobs_dict={},
                    pooler_output=[],
                ).items()
            }
        )
        if not order:
            return Future(self, self.now, output)
        # Batches of a pipeline overlap: rooflut's durations begin with the schedule.
        start = max(self.gpu_free, self.now) if self.stages == 1 else self.now
        step = SimpleNamespace(
            chunks=chunks,
            decodes=decodes,
            kv_tokens=kv_tokens,
            start=start,
            preempted=self.preempted,
            planned_at=self.now,
        )
        self.preempted = 0
        self.steps.append(step)
        step.duration = self.durations(len(self.steps) - 1, step)
        step.end = start + step.duration
        self.gpu_free = max(self.gpu_free, step.end)
        step.state = None
        for id, sampled in zip(order, tokens):
            if sampled and id not in self.first:
                self.first[id] = (step.end, outputs)
        return Future(self, step.end, output)

    preempted = 0

    # --- requests and the loop ---

    def add(self, id, prompt, output, text, priority=0, arrival=0.0):
        """Adds a request whose token number `i` is `text(i)`."""
        vllm = self.vllm
        sampling = Namespace(
            max_tokens=output,
            min_tokens=0,
            ignore_eos=True,
            stop_token_ids=None,
            eos_token_id=None,
            all_stop_token_ids=set(),
            n=1,
            skip_clone=True,
        )
        hasher = None
        if self.scheduler.cache_config.enable_prefix_caching:
            ahead = [self.hashed_ahead] if self.hashed_ahead else []
            hasher = vllm.kv_cache_utils.get_request_block_hasher(self.scheduler.block_size, vllm.hash, *ahead)
        takes = inspect.signature(vllm.Request.__init__).parameters
        arguments = dict(
            request_id=id,
            prompt_token_ids=[text(i) for i in range(prompt)],
            sampling_params=sampling,
            pooling_params=None,
            eos_token_id=None,
            arrival_time=arrival,
            priority=priority,
            block_hasher=hasher,
        )
        request = vllm.Request(**{name: value for name, value in arguments.items() if name in takes})
        self.known[id] = dict(
            prompt=prompt, output=output, sampled=0, text=text, target=prompt, fresh=lambda scheduled: fresh(scheduled)
        )
        self.requests_added = True
        self.scheduler.add_request(request)
        return request

    def serve(self, arrivals, durations, limit=200_000):
        """Serves `arrivals`, pairs of a time in nanoseconds and a function that adds the request, in order.

        Events have the order of the engine: results of a step, input queue, next schedule.
        """
        scheduler = self.scheduler
        self.durations = durations
        arrivals = deque(arrivals)
        preempt = scheduler._preempt_request if hasattr(scheduler, "_preempt_request") else None
        if preempt:

            def counted(*args, **kwargs):
                self.preempted += 1
                request = args[0]
                self.preemptions[request.request_id] = self.preemptions.get(request.request_id, 0) + 1
                return preempt(*args, **kwargs)

            scheduler._preempt_request = counted
        else:
            count_old(self)
        schedule = scheduler.schedule

        def observed(*args, **kwargs):
            self.preempted = 0  # those of a schedule that turns out empty are no step's
            output = schedule(*args, **kwargs)
            if not output.num_scheduled_tokens:
                self.empty += 1
            self.after = self.state()
            if (
                self.asynchronous
                and self.stages == 1
                and self.steps
                and self.steps[-1].state is None
                and len(self.batch_queue) > 0
            ):
                self.steps[-1].state = self.after
            return output

        scheduler.schedule = observed
        update = scheduler.update_from_output

        reported = 0

        def updated(scheduled, *args, **kwargs):
            nonlocal reported
            if self.stages > 1 and scheduled.num_scheduled_tokens:
                self.steps[reported].state = self.state()
                reported += 1
            outputs = update(scheduled, *args, **kwargs)
            for of in outputs.values():
                for output in of.outputs:
                    if output.finish_reason is not None:
                        self.finished[output.request_id] = self.now
            return outputs

        scheduler.update_from_output = updated
        idle = 0
        while True:
            while arrivals and arrivals[0][0] <= self.now:
                arrivals.popleft()[1](self)
            if not scheduler.has_requests() and not self.batch_queue:
                if not arrivals:
                    return True
                self.now = max(self.now, arrivals[0][0])
                continue
            before = (len(self.steps), len(self.finished))
            _, executed = self.step_fn()
            self.post_step(executed)
            if not self.asynchronous and self.stages == 1 and self.steps and self.steps[-1].state is None:
                self.steps[-1].state = self.after
            if not executed and scheduler.has_unfinished_requests():
                # EngineCoreProc._process_engine_step: time.sleep(0.001), not in 0.11.
                self.now += SLEEP_NS if self.vllm.sleeps else 0
            if before == (len(self.steps), len(self.finished)):
                idle += 1
                if idle > 20 and not (self.batch_queue and self.gpu_free > self.now):
                    if arrivals:
                        self.now = max(self.now + 1, arrivals[0][0])
                        idle = 0
                        continue
                    return False  # nothing can ever be scheduled
            else:
                idle = 0
            if len(self.steps) > limit:
                return False

    after = None
    empty = 0

    def outcome(self, id, api_output_ns):
        """First token and end in nanoseconds, and preemptions, of a request; `None` if it has not completed.

        The API server takes `api_output_ns` for each output of the step with the first token, and is late from then on.
        """
        if id not in self.finished:
            return None
        first, outputs = self.first[id]
        late = outputs * api_output_ns
        return (first + late, self.finished[id] + late, self.preemptions.get(id, 0))

    def state(self):
        """Numbers of running and waiting requests and of blocks in use."""
        scheduler = self.scheduler
        pool = scheduler.kv_cache_manager.block_pool
        return (
            len(scheduler.running),
            len(scheduler.waiting) + len(getattr(scheduler, "skipped_waiting", ())),
            pool.num_gpu_blocks - 1 - pool.get_num_free_blocks(),
        )


def fresh(scheduled):
    """Ids of the requests that a step admits, for the first time or again."""
    ids = {new.req_id for new in scheduled.scheduled_new_reqs}
    cached = scheduled.scheduled_cached_reqs
    resumed = getattr(cached, "resumed_req_ids", None)
    if resumed is None:
        resumed = [id for id, of in zip(cached.req_ids, cached.resumed_from_preemption) if of]
    return ids | set(resumed)


def count_old(engine):
    """Counts preemptions of 0.11, which preempts inline and calls `kv_cache_manager.free`."""
    scheduler = engine.scheduler
    free = scheduler.kv_cache_manager.free

    def counted(request):
        if not request.is_finished():
            engine.preempted += 1
            engine.preemptions[request.request_id] = engine.preemptions.get(request.request_id, 0) + 1
        return free(request)

    scheduler.kv_cache_manager.free = counted
