"""vLLM's own scheduler and the step functions of its EngineCore on a virtual clock.

The model takes as long as the caller says and samples one token for each request whose known tokens
are computed.
"""

import contextlib
import math
from collections import Counter, deque
from types import SimpleNamespace

from .settings import Namespace, taken
from .step import Sequence, Step

#: Sleep of EngineCoreProc after a schedule without work.
SLEEP_NS = 1_000_000

#: Schedules without work after which nothing can ever be scheduled.
MAX_IDLE = 20


class Future:
    """The output of a step, available at `end_ns`."""

    def __init__(self, clock, end_ns, output):
        self.clock, self.end_ns, self.output = clock, end_ns, output

    def done(self):
        # With pipeline stages it is a FutureWrapper of the executor, which is done when its result was asked for.
        return self.clock.settings.stages == 1 and self.clock.now >= self.end_ns

    def result(self):
        self.clock.now = max(self.clock.now, self.end_ns)
        return self.output


class Engine:
    """One server.

    `durations` is called with the number of a step and the step, and returns its duration in nanoseconds. Only with
    `keeps_work` the steps keep their chunks and decodes.
    """

    def __init__(self, vllm, settings, durations, keeps_work=False):
        self.vllm, self.settings, self.durations, self.keeps_work = vllm, settings, durations, keeps_work
        self.speculation = settings.speculation
        self.scheduler = self._scheduler()
        self.now = 0
        self.gpu_free = 0
        self.steps = []
        self.sequences = {}
        #: Nanoseconds between two tokens of a request, and how often.
        self.gaps = Counter()
        #: Largest number of KV blocks in use after a schedule.
        self.peak_blocks = 0
        # Requests that are preempted since the last step with work was scheduled: those of a schedule that turns out
        # empty count for the next one. And the state of the server after the last schedule.
        self.preempted = 0
        self.after = None
        self.drafts = {}
        self._set_attributes_of_engine_core()
        self._observe()

    def _scheduler(self):
        vllm, settings = self.vllm, self.settings
        config = settings.config(vllm)
        self.hashed_ahead = config.num_hash_lookahead_tokens
        self.groups = settings.groups(vllm, config)
        kv = vllm.KVCacheConfig(
            num_blocks=settings.kv_blocks + 1,
            kv_cache_tensors=[],
            kv_cache_groups=self.groups,
        )
        # `resolve_kv_cache_block_sizes` from 0.20 on: steps are scheduled in multiples of all blocks.
        sizes = [group.kv_cache_spec.block_size for group in self.groups]
        arguments = dict(
            vllm_config=config,
            kv_cache_config=vllm.kv_cache_utils.generate_scheduler_kv_cache_config([kv]),
            block_size=math.lcm(*sizes) if vllm.release >= (0, 20) else settings.block_size,
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
        own = vllm.AsyncScheduler if settings.asynchronous else vllm.Scheduler
        scheduler = (settings.scheduler_cls or own)(**taken(vllm.Scheduler.__init__, arguments))
        # The time in seconds for policies that need it: `time.time()` is not that of the requests.
        scheduler.clock = lambda: self.now / 1e9
        return scheduler

    def _set_attributes_of_engine_core(self):
        batches = self.settings.batches
        self.model_executor = self
        self.batch_queue = deque() if batches > 1 else None
        self.batch_queue_size = batches
        self.async_scheduling = self.settings.asynchronous
        self.is_pooling_model = self.is_ec_producer = self.is_mm_encoder_only = False
        self.is_ec_consumer = True
        self.use_spec_decode = self.check_for_draft_tokens = bool(self.speculation)
        self.log_error_detail = self.log_iteration_details = self.capture_iteration_details = lambda *_: (
            contextlib.nullcontext()
        )
        self._process_aborts_queue = self._attach_iteration_details = self._attach_weight_version = lambda *_: None
        self._should_throttle_prefills = lambda: False
        core = self.vllm.EngineCore
        self.step_fn = (core.step_with_batch_queue if batches > 1 else core.step).__get__(self)
        self.post_step = core.post_step.__get__(self)

    def _observe(self):
        """Calls this object when the scheduler schedules, preempts and applies the results of a step."""
        scheduler = self.scheduler
        schedule, update = scheduler.schedule, scheduler.update_from_output
        reported = 0

        def scheduled(*args, **kwargs):
            output = schedule(*args, **kwargs)
            self.after = self.state()
            self.peak_blocks = max(self.peak_blocks, self.after[2])
            if self.settings.asynchronous and self.settings.stages == 1 and self.batch_queue:
                self._report_state()
            return output

        def updated(scheduled, *args, **kwargs):
            nonlocal reported
            if self.settings.stages > 1 and scheduled.num_scheduled_tokens:
                self.steps[reported].state = self.state()
                reported += 1
            outputs = update(scheduled, *args, **kwargs)
            for of in outputs.values():
                for output in of.outputs:
                    if output.finish_reason is not None:
                        self.sequences[output.request_id].finished_ns = self.now
            return outputs

        scheduler.schedule, scheduler.update_from_output = scheduled, updated
        # 0.11 preempts inline and calls `kv_cache_manager.free`, as it does for a request that has finished.
        if hasattr(scheduler, "_preempt_request"):
            owner, name = scheduler, "_preempt_request"
        else:
            owner, name = scheduler.kv_cache_manager, "free"
        remove = getattr(owner, name)

        def preempted(request, *args, **kwargs):
            if not request.is_finished():
                self.preempted += 1
                self.sequences[request.request_id].preemptions += 1
            return remove(request, *args, **kwargs)

        setattr(owner, name, preempted)

    def _report_state(self):
        """Makes the state after the last schedule that of the last step, which has none."""
        if self.steps and self.steps[-1].state is None:
            self.steps[-1].state = self.after

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
        order = list(scheduled.num_scheduled_tokens)
        if not order:
            return Future(self, self.now, self._output(order, []))
        # Batches of a pipeline overlap: rooflut's durations begin with the schedule.
        start = max(self.gpu_free, self.now) if self.settings.stages == 1 else self.now
        step = Step(start=start, planned_at=self.now, preempted=self.preempted)
        self.preempted = 0
        admitted = fresh(scheduled)
        tokens, yielding, outputs = [], [], 0
        for id in order:
            sequence = self.sequences[id]
            if id in admitted:
                sequence.target = self.scheduler.requests[id].num_tokens
            has_output = sequence.sampled < sequence.output
            sampled = self._compute(step, scheduled, id, sequence)
            outputs += bool(sampled) and has_output
            if sampled and has_output:
                yielding.append(sequence)
            tokens.append(sampled)
            if self.speculation and not self.settings.asynchronous:
                # A draft model runs over the whole batch; n-grams are looked up after a token.
                drafted = sampled or self.speculation.lookahead
                self.drafts[id] = [-7] * self.speculation.tokens if drafted else []
        number = len(self.steps)
        self.steps.append(step)
        step.duration = self.durations(number, step)
        self.gpu_free = max(self.gpu_free, step.end)
        for sequence in yielding:
            if sequence.token_ns is None:
                sequence.first_ns, sequence.outputs_of_first = step.end, outputs
            else:
                self.gaps[step.end - sequence.token_ns] += 1
            sequence.token_ns, sequence.token_step = step.end, number
        if not self.keeps_work:
            step.chunks = step.decodes = None
        return Future(self, step.end, self._output(order, tokens))

    def _compute(self, step, scheduled, id, sequence):
        """Computes the tokens of a request; returns those that are sampled."""
        new = scheduled.num_scheduled_tokens[id]
        request = self.scheduler.requests[id]
        after = request.num_computed_tokens  # as of the end of this step, drafts in flight included
        before = after - new
        if sequence.scheduled_ns is None:
            sequence.scheduled_ns = self.now
        if before < sequence.target:
            # Drafts are placeholders, or for other positions: the rejection sampler rejects them.
            is_last = after >= sequence.target
            step.add_chunk(id, new, after, is_last)
            # 0.11 leaves a victim in the step; its model runner discards the token, as the one before is not known.
            if not is_last or request.status == self.vllm.RequestStatus.PREEMPTED:
                return []
            return sequence.sample(1)
        # The GPU computes what follows the tokens that were accepted, whatever the scheduler assumes.
        kv_tokens = sequence.prompt + sequence.sampled - 1 + new
        drafts = len(scheduled.scheduled_spec_decode_tokens.get(id, ()))
        accepted = min(self.speculation.accepted(id, sequence.sampled), drafts) if drafts else 0
        step.add_decode(id, new, kv_tokens)
        left = sequence.output - sequence.sampled
        if left <= 0:
            step.overrun += 1
        else:
            step.late += sequence.token_step != len(self.steps) - 1
            step.drafted += new - 1
            step.accepted += accepted
            step.yielded += min(1 + accepted, left) if self.speculation else 0
        return sequence.sample(1 + accepted)

    def _output(self, order, tokens):
        return self.vllm.ModelRunnerOutput(
            req_ids=order,
            req_id_to_index={id: i for i, id in enumerate(order)},
            sampled_token_ids=tokens,
            logprobs=None,
            prompt_logprobs_dict={},
            pooler_output=[],
        )

    # --- requests and the loop ---

    def add(self, id, prompt, output, text, priority=0, arrival=0.0):
        """Adds a request whose token number `i` is `text(i)`; `arrival` is in seconds."""
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
        if self.settings.prefix_caching:
            ahead = [self.hashed_ahead] if self.hashed_ahead else []
            hasher = vllm.kv_cache_utils.get_request_block_hasher(self.scheduler.block_size, vllm.hash, *ahead)
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
        self.sequences[id] = Sequence(prompt, output, text)
        self.scheduler.add_request(vllm.Request(**taken(vllm.Request.__init__, arguments)))

    def serve(self, arrivals, limit=None):
        """Serves `arrivals`, pairs of a time in nanoseconds and a function that adds the request, in order.

        Returns whether all requests have finished: nothing more can be scheduled otherwise, or `limit` steps have run.
        Events have the order of the engine: results of a step, input queue, next schedule.
        """
        scheduler = self.scheduler
        arrivals = deque(arrivals)
        idle = 0
        while True:
            while arrivals and arrivals[0][0] <= self.now:
                arrivals.popleft()[1](self)
            if not scheduler.has_requests() and not self.batch_queue:
                if not arrivals:
                    return True
                self.now = max(self.now, arrivals[0][0])
                continue
            before = (len(self.steps), scheduler.get_num_unfinished_requests())
            _, executed = self.step_fn()
            self.post_step(executed)
            if not self.settings.asynchronous and self.settings.stages == 1:
                self._report_state()
            if not executed and scheduler.has_unfinished_requests():
                # EngineCoreProc._process_engine_step: time.sleep(0.001), not in 0.11.
                self.now += SLEEP_NS if self.vllm.sleeps else 0
            if before == (len(self.steps), scheduler.get_num_unfinished_requests()):
                idle += 1
                if idle > MAX_IDLE and not (self.batch_queue and self.gpu_free > self.now):
                    if not arrivals:
                        return False
                    self.now = max(self.now + 1, arrivals[0][0])
                    idle = 0
            else:
                idle = 0
            if limit is not None and len(self.steps) > limit:
                return False

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
