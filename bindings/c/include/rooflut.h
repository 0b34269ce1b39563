// rooflut: how long LLM inference takes. Written by cbindgen from bindings/c/src; do not edit.
//
// Functions return 0, or the code of an error, which `error` describes unless it is null. Pointers are valid for the
// lengths given beside them, for the time of the call. All functions may be called from several threads.

#ifndef ROOFLUT_H
#define ROOFLUT_H

#include <stddef.h>
#include <stdint.h>

// The kind of an error; 0 is success.
typedef enum RooflutCode {
  // Success.
  ROOFLUT_CODE_OK = 0,
  // A pointer is null or not aligned.
  ROOFLUT_CODE_POINTER = 1,
  // A handle was never returned, was freed, or is of another kind.
  ROOFLUT_CODE_HANDLE = 2,
  // The object is in use by another thread.
  ROOFLUT_CODE_BUSY = 3,
  // A length contradicts another or is too large.
  ROOFLUT_CODE_LENGTH = 4,
  // A number is out of range.
  ROOFLUT_CODE_VALUE = 5,
  // A text is not UTF-8.
  ROOFLUT_CODE_UTF8 = 6,
  // The library rejects the input; the message says why.
  ROOFLUT_CODE_REFUSED = 7,
  // All slots of the registry are taken.
  ROOFLUT_CODE_FULL = 8,
  // The library panicked; the message says where. The process continues.
  ROOFLUT_CODE_PANIC = 9,
  // Another thread called `rooflut_stop`.
  ROOFLUT_CODE_STOPPED = 10,
  // The time predicted for a step is negative, infinite or no number, or the step ends after the clock; the message
  // names the step. A server runs no further one.
  ROOFLUT_CODE_STEP_TIME = 11,
} RooflutCode;

// Output of a run.
typedef enum RooflutOutput {
  // The report as JSON: what `rooflut run --json` prints, without rows that `rooflut-lab tables check` flags.
  ROOFLUT_OUTPUT_REPORT = 0,
  // A CSV with a line for each request.
  ROOFLUT_OUTPUT_REQUESTS_CSV = 1,
  // A CSV with a line for each step.
  ROOFLUT_OUTPUT_STEPS_CSV = 2,
  // A timeline for ui.perfetto.dev.
  ROOFLUT_OUTPUT_TIMELINE = 3,
} RooflutOutput;

// Which tokens of a request others share, for prefix caching.
typedef enum RooflutContent {
  // None.
  ROOFLUT_CONTENT_UNIQUE = 0,
  // Tokens of a prefix, and of earlier turns of a session.
  ROOFLUT_CONTENT_TEXTS = 1,
  // Tokens of blocks with ids, as traces have them.
  ROOFLUT_CONTENT_TRACE_BLOCKS = 2,
} RooflutContent;

// The kind of an event.
typedef enum RooflutEventKind {
  // The step that yields the first token of the request has ended.
  ROOFLUT_EVENT_KIND_FIRST_TOKEN = 0,
  // The last event of the request: `outcome` says how it ended.
  ROOFLUT_EVENT_KIND_FINISHED = 1,
  // An event that this version of the interface does not know.
  ROOFLUT_EVENT_KIND_UNKNOWN = 2,
} RooflutEventKind;

// How a request ended.
typedef enum RooflutOutcome {
  // It has not ended.
  ROOFLUT_OUTCOME_NONE = 0,
  // It was served in full.
  ROOFLUT_OUTCOME_COMPLETED = 1,
  // It was rejected: it needs more KV blocks than the server has.
  ROOFLUT_OUTCOME_TOO_MANY_KV_BLOCKS = 2,
  // It was rejected: the queue was full.
  ROOFLUT_OUTCOME_QUEUE_FULL = 3,
  // It was aborted: its client gave up before the first token.
  ROOFLUT_OUTCOME_ABANDONED = 4,
  // It was aborted by `rooflut_server_cancel`.
  ROOFLUT_OUTCOME_CANCELLED = 5,
  // It was rejected for a reason that has no name here.
  ROOFLUT_OUTCOME_OTHER = 6,
} RooflutOutcome;

// Role of a server.
typedef enum RooflutRole {
  // Prefill and decode.
  ROOFLUT_ROLE_WHOLE = 0,
  // Prefill.
  ROOFLUT_ROLE_PREFILL = 1,
  // Decode: the KV entries of a prompt are there when the request arrives.
  ROOFLUT_ROLE_DECODE = 2,
} RooflutRole;

// A part of a step.
typedef enum RooflutPart {
  // Fused query, key and value projection.
  ROOFLUT_PART_QKV = 0,
  // Attention over new prompt tokens.
  ROOFLUT_PART_PREFILL_ATTENTION = 1,
  // Attention of decoding requests over their KV cache.
  ROOFLUT_PART_DECODE_ATTENTION = 2,
  // Output projection of the attention.
  ROOFLUT_PART_O_PROJ = 3,
  // Fused gate and up projection.
  ROOFLUT_PART_GATE_UP = 4,
  // Down projection.
  ROOFLUT_PART_DOWN = 5,
  // Router of mixture-of-experts layers.
  ROOFLUT_PART_ROUTER = 6,
  // Experts.
  ROOFLUT_PART_MOE = 7,
  // All-gathers and reduce-scatters between data-parallel ranks.
  ROOFLUT_PART_EXCHANGE = 8,
  // All-reduces of tensor parallelism.
  ROOFLUT_PART_ALL_REDUCE = 9,
  // Hidden states sent to the next pipeline stage.
  ROOFLUT_PART_TRANSFER = 10,
  // Norms, rotary embedding, activation, residual, KV write and gaps.
  ROOFLUT_PART_SMALL_KERNELS = 11,
  // Projection to the vocabulary.
  ROOFLUT_PART_LM_HEAD = 12,
  // Sampling.
  ROOFLUT_PART_SAMPLING = 13,
  // Waiting of the GPU for the host.
  ROOFLUT_PART_HOST = 14,
  // A part that this version of the interface does not know.
  ROOFLUT_PART_UNKNOWN = 15,
} RooflutPart;

// The resource that limits the speed of a part.
typedef enum RooflutBinding {
  // Matrix math.
  ROOFLUT_BINDING_COMPUTE = 0,
  // Device memory bandwidth.
  ROOFLUT_BINDING_MEMORY = 1,
  // Launches and waiting.
  ROOFLUT_BINDING_LATENCY = 2,
  // The link between GPUs.
  ROOFLUT_BINDING_LINK = 3,
  // A resource that this version of the interface does not know.
  ROOFLUT_BINDING_UNKNOWN = 4,
} RooflutBinding;

// The kind of data that an answer was computed from, from the most to the least certain.
typedef enum RooflutClass {
  // A row of a table.
  ROOFLUT_CLASS_MEASURED = 0,
  // Rows of the same shape.
  ROOFLUT_CLASS_INTERPOLATED = 1,
  // A summary of many rows.
  ROOFLUT_CLASS_SMOOTHED = 2,
  // The efficiency of another shape.
  ROOFLUT_CLASS_TRANSFERRED = 3,
  // No measurement: the roofline bound.
  ROOFLUT_CLASS_BOUND = 4,
  // Constants that were fitted to servers; no table.
  ROOFLUT_CLASS_FITTED = 5,
  // A class that this version of the interface does not know.
  ROOFLUT_CLASS_UNKNOWN = 6,
} RooflutClass;

// A handle: kind, generation and slot of an object in the registry. 0 is none.
typedef uint64_t RooflutHandle;

// A scenario as TOML, with objects in place of names in it.
typedef struct RooflutScenarioSource {
  // The keys of a scenario file of `rooflut run --scenario`: deployment, `[server]`, `[workload]`, `[output]`.
  // Empty for the defaults.
  const char *toml;
  // Bytes of `toml`.
  size_t toml_length;
  // The model; 0 for the built-in one that the key `model` names.
  RooflutHandle model;
  // The draft model; 0 for the built-in one that the key `draft_model` names, if there is one.
  RooflutHandle draft_model;
  // The tables; 0 for the tables named by the key `gpu` or `tables`.
  RooflutHandle tables;
} RooflutScenarioSource;

// The error of a call. The caller provides it, or null to do without the message.
typedef struct RooflutError {
  // A `RooflutCode`.
  uint32_t code;
  // The cause, the expected input and a remedy: UTF-8 that ends with a zero. Written by failures only.
  char message[1020];
} RooflutError;

// The time of a kernel and its provenance.
typedef struct RooflutEstimate {
  // Seconds.
  double seconds;
  // Model FLOPs utilization, 0 to 1.
  double mfu;
  // A `RooflutClass`.
  uint32_t class_;
  // 1 if the query lies outside of the measured axes, else 0.
  uint32_t is_outside;
} RooflutEstimate;

// The files of a model as Hugging Face has them. Files that are left out are null.
typedef struct RooflutConfigFiles {
  // Name of the model in reports and messages.
  const char *name;
  // Bytes of `name`.
  size_t name_length;
  // Text of `config.json`.
  const char *config;
  // Bytes of `config`.
  size_t config_length;
  // Text of `hf_quant_config.json`, or null.
  const char *hf_quant_config;
  // Bytes of `hf_quant_config`.
  size_t hf_quant_config_length;
  // Text of `generation_config.json`, or null.
  const char *generation_config;
  // Bytes of `generation_config`.
  size_t generation_config_length;
  // 1 to read a file of any type as a Llama's, else 0.
  uint32_t assume_llama;
} RooflutConfigFiles;

// A request. With zeros except for prompt and output, the request arrives at time 0 and shares no tokens.
typedef struct RooflutRequest {
  // Arrival, nanoseconds from the start.
  uint64_t arrival_ns;
  // Tokens of the prompt.
  uint32_t prompt_tokens;
  // Tokens of the output.
  uint32_t output_tokens;
  // Leading tokens of the prompt that count as found in the prefix cache.
  uint32_t cached_prompt_tokens;
  // Smaller numbers go first under the policy `priority`.
  uint32_t priority;
  // A `RooflutContent`.
  uint32_t content;
  // Tokens of the prefix, of texts.
  uint32_t prefix_tokens;
  // Id of the prefix, of texts.
  uint64_t prefix;
  // Id of what follows the prefix, of texts.
  uint64_t own;
  // Ids of the first blocks of the prompt, of trace blocks; else null.
  const uint64_t *block_ids;
  // Number of ids.
  size_t block_ids_length;
  // Tokens of each block, of trace blocks.
  uint32_t block_tokens;
} RooflutRequest;

// The state of a server.
typedef struct RooflutServerState {
  // The current time, nanoseconds from the start.
  uint64_t now_ns;
  // The time to advance to next; `UINT64_MAX` if the server is idle.
  uint64_t next_event_ns;
  // Tokens of prompt and output of all requests that have not finished.
  uint64_t outstanding_tokens;
  // Requests that the engine has not seen yet.
  uint64_t arriving;
  // Requests in the queue of the engine.
  uint64_t waiting;
  // Requests that hold a sequence slot.
  uint64_t running;
  // KV blocks in use.
  uint32_t kv_blocks_used;
  // KV blocks of the server.
  uint32_t kv_blocks;
  // 1 while a step is in flight, else 0.
  uint32_t is_in_step;
  // 1 if all requests have finished, else 0.
  uint32_t is_idle;
} RooflutServerState;

// Counts of all steps of a server that have ended.
typedef struct RooflutServerTotals {
  // Engine steps.
  uint64_t steps;
  // Nanoseconds during which a step ran.
  uint64_t busy_ns;
  // Requests that were served in full.
  uint64_t completed;
  // Requests that were rejected.
  uint64_t rejected;
  // Requests whose output was cut at `max_model_len`.
  uint64_t truncated;
  // Tokens of prompts and outputs of completed requests.
  uint64_t tokens;
  // Tokens of their outputs.
  uint64_t output_tokens;
  // Preemptions.
  uint64_t preemptions;
  // Blocks looked up in the prefix cache.
  uint64_t cache_lookups;
  // Blocks found in it.
  uint64_t cache_hits;
  // Blocks evicted from it.
  uint64_t cache_evictions;
  // Largest number of KV blocks in use at any time.
  uint64_t peak_kv_blocks;
} RooflutServerTotals;

// An event in the life of a request. Times are nanoseconds from the start; those after `at_ns` are of completed
// requests, else 0.
typedef struct RooflutEvent {
  // Number of the request, as `rooflut_server_push` returned it.
  uint64_t request;
  // Time of the event.
  uint64_t at_ns;
  // When the engine saw the request, after the API server.
  uint64_t at_engine_ns;
  // When the step with its first chunk was scheduled.
  uint64_t scheduled_ns;
  // When the step that yields its first token ended.
  uint64_t first_token_ns;
  // Delay of its tokens in the API server.
  uint64_t api_output_ns;
  // A `RooflutEventKind`.
  uint32_t kind;
  // How often it was preempted.
  uint32_t preemptions;
  // A `RooflutOutcome`.
  uint32_t outcome;
} RooflutEvent;

// A step of a server.
typedef struct RooflutStepRecord {
  // Start, nanoseconds.
  uint64_t start_ns;
  // Duration, nanoseconds.
  uint64_t duration_ns;
  // KV tokens of the decoding requests.
  uint64_t kv_tokens;
  // Number of requests with tokens, for `rooflut_server_step_tokens`.
  uint64_t tokens_length;
  // Prompt chunks.
  uint32_t prefill_chunks;
  // Their tokens.
  uint32_t prefill_tokens;
  // Decoding requests.
  uint32_t decode_requests;
  // Drafted tokens.
  uint32_t drafted_tokens;
  // Accepted drafted tokens.
  uint32_t accepted_tokens;
  // Output tokens that the step yields.
  uint32_t yielded_tokens;
  // Requests that hold a sequence slot.
  uint32_t running;
  // Requests in the queue.
  uint32_t waiting;
  // KV blocks in use.
  uint32_t kv_blocks_used;
  // Requests that were preempted.
  uint32_t preempted;
} RooflutStepRecord;

// Output tokens of a request in a step.
typedef struct RooflutYield {
  // Number of the request, as `rooflut_server_push` returned it.
  uint64_t request;
  // Tokens: 1, or more with speculative decoding.
  uint64_t tokens;
} RooflutYield;

// Consecutive prompt tokens of one request.
typedef struct RooflutChunk {
  // Tokens computed in this step, at least 1.
  uint32_t new_tokens;
  // Tokens of the request in the KV cache after this step, the new ones included.
  uint32_t kv_len;
  // 1 if the prompt ends with this chunk, so the chunk yields a token; else 0.
  uint8_t is_last;
} RooflutChunk;

// Decoding requests. Each has one new token, plus its drafted tokens.
typedef struct RooflutDecodeGroup {
  // Sum of the KV lengths of the requests, all new tokens included.
  uint64_t kv_tokens;
  // KV tokens, over all requests, outside the window of layers with one; 0 for as few as the lengths allow.
  uint64_t outside_tokens;
  // Requests, at least 1.
  uint32_t requests;
  // Drafted tokens of each request; 0 without speculative decoding.
  uint32_t drafted;
} RooflutDecodeGroup;

// The tokens of one step.
typedef struct RooflutBatch {
  // Prompt chunks; null if there are none.
  const struct RooflutChunk *prefill;
  // Number of prompt chunks.
  size_t prefill_length;
  // Groups of decoding requests; null if there are none.
  const struct RooflutDecodeGroup *decode;
  // Number of groups.
  size_t decode_length;
} RooflutBatch;

// A time.
typedef struct RooflutDuration {
  // Seconds.
  double seconds;
  // Whole nanoseconds, halves rounded up.
  uint64_t nanoseconds;
} RooflutDuration;

// One part of a step, over all layers.
typedef struct RooflutPartTime {
  // Seconds.
  double seconds;
  // Share of the time that comes from constants fitted to servers, 0 to 1.
  double fitted_share;
  // A `RooflutPart`.
  uint32_t part;
  // A `RooflutBinding`.
  uint32_t binding;
  // A `RooflutClass`.
  uint32_t class_;
  // 1 if the query lies outside of the measured axes, else 0.
  uint32_t is_outside;
} RooflutPartTime;

// The time of a step by part.
typedef struct RooflutStepTime {
  // The whole step.
  struct RooflutDuration total;
  // Seconds that physics demands: FLOPs at the peak, bytes at the bandwidth.
  double bound_seconds;
  // Number of parts.
  size_t parts_length;
  // The parts that take time.
  struct RooflutPartTime parts[16];
} RooflutStepTime;

// A range of times.
typedef struct RooflutInterval {
  // Its low end, seconds.
  double low_seconds;
  // Its high end, seconds.
  double high_seconds;
} RooflutInterval;

// Batches of many steps, a structure of arrays: the entries of all steps one after another, and for each step the
// place of its first entry.
//
// Step i has the chunks from `prefill_offsets[i]` up to `prefill_offsets[i + 1]`, and the groups from
// `decode_offsets[i]` up to `decode_offsets[i + 1]`. Offsets begin with 0, do not decrease and end with the number of
// entries.
typedef struct RooflutSteps {
  // Number of steps.
  size_t length;
  // `length + 1` offsets; null if no step has a prompt chunk.
  const uint64_t *prefill_offsets;
  // Tokens computed by each chunk.
  const uint32_t *prefill_new_tokens;
  // Tokens in the KV cache after each chunk.
  const uint32_t *prefill_kv_len;
  // 1 for chunks that end their prompt, else 0; null if all do.
  const uint8_t *prefill_is_last;
  // Number of chunks of all steps.
  size_t prefill_length;
  // `length + 1` offsets; null if no step has a decoding request.
  const uint64_t *decode_offsets;
  // Requests of each group.
  const uint32_t *decode_requests;
  // Sum of the KV lengths of each group.
  const uint64_t *decode_kv_tokens;
  // Drafted tokens of each request of a group; null for none.
  const uint32_t *decode_drafted;
  // KV tokens of each group outside the window; null for as few as the lengths allow.
  const uint64_t *decode_outside_tokens;
  // Number of groups of all steps.
  size_t decode_length;
} RooflutSteps;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Lists deployments of a model with the requests that each holds in memory, and returns a text of JSON: what
// `rooflut fits --json` prints.
//
// `wanted` is an object of JSON, or empty: `batch`, the number of requests that should fit at the same time, and
// `context`, the tokens of each. A scenario without `gpu` and `tables` asks for all GPUs, one without `tp` for all
// that can share the model.
uint32_t rooflut_fits(const struct RooflutScenarioSource *source,
                      const char *wanted,
                      size_t wanted_length,
                      RooflutHandle *fits,
                      struct RooflutError *error);

// Finds a kernel in a table set.
//
// `kernel` is an object of JSON with one key, the operation as in a table set, and its shape:
// `{"gemm": {"dtype": "bf16", "k": 4096, "n": 6144}}`. A shape has all key columns of the operation's tables:
// `bench_data/README.md` lists the columns, and `rooflut lookup OPERATION --help` explains them. Heads are counted on
// one rank if `tp` is not a column. The columns of an indexer are an object:
// `"indexer": {"heads": 64, "head_dim": 128, "top_k": 2048}`.
uint32_t rooflut_lookup_new(RooflutHandle tables,
                            const char *kernel,
                            size_t kernel_length,
                            RooflutHandle *lookup,
                            struct RooflutError *error);

// Returns the time of a kernel.
//
// `size` counts rows of a gemm, tokens of a moe or a hyper_connection, bytes of the whole message of a collective,
// tokens of each prompt of a prefill, KV tokens of all requests of a decode, or KV tokens of each request of a
// decode_window. `batch` is the number of requests of a prefill or decode, and 0 for other operations. A delta_decode
// has no size: 0.
uint32_t rooflut_lookup_at(RooflutHandle lookup,
                           uint32_t batch,
                           uint64_t size,
                           struct RooflutEstimate *estimate,
                           struct RooflutError *error);

// Returns a built-in model by its name or Hugging Face id.
uint32_t rooflut_model_find(const char *name,
                            size_t name_length,
                            RooflutHandle *model,
                            struct RooflutError *error);

// Reads a model from the texts of its files.
uint32_t rooflut_model_read(const struct RooflutConfigFiles *files,
                            RooflutHandle *model,
                            struct RooflutError *error);

// Returns the dimensions of a model as a text of JSON: its name and its specification.
uint32_t rooflut_model_describe(RooflutHandle model,
                                RooflutHandle *description,
                                struct RooflutError *error);

// Returns the names of the built-in models as a text of JSON, a list.
uint32_t rooflut_model_names(RooflutHandle *names, struct RooflutError *error);

// Returns the names of the engine stacks, the values of the key `engine`, as a text of JSON, a list.
uint32_t rooflut_engine_names(RooflutHandle *names,
                              struct RooflutError *error);

// Returns the name of a `RooflutPart`, such as `qkv`: a text that ends with a zero and is never freed.
const char *rooflut_part_name(uint32_t part);

// Returns the name of a `RooflutBinding`, such as `memory`: a text that ends with a zero and is never freed.
const char *rooflut_binding_name(uint32_t binding);

// Returns the name of a `RooflutClass`, such as `measured`: a text that ends with a zero and is never freed.
const char *rooflut_class_name(uint32_t class_);

// Returns the name of a `RooflutEventKind`, such as `first_token`: a text that ends with a zero and is never freed.
const char *rooflut_event_kind_name(uint32_t kind);

// Returns the name of a `RooflutOutcome`, such as `completed`: a text that ends with a zero and is never freed.
const char *rooflut_outcome_name(uint32_t outcome);

// Finds the deployments that meet limits under the load of a scenario: those with the fewest GPUs, or the cheapest if
// GPUs differ. Returns the JSON text that `rooflut plan --json` prints.
//
// `wanted` is an object of JSON: `goodput`, a list of limits such as `"ttft:500"` or `"tpot:20@p95"`, and optionally
// `attainment`, `confidence`, `max_gpus`, `count`, and lists of choices: `gpu`, `tp`, `dp`, `pp`, `expert_parallel`,
// `dtype`, `kv_dtype`, `max_num_seqs`, `max_num_batched_tokens`. Without such a list, the value in the scenario is the
// only choice. Prices come from the key `prices` of `[output]`, or are list prices. `stop` is a stop or 0. Takes
// seconds, on all processors.
uint32_t rooflut_plan(const struct RooflutScenarioSource *source,
                      const char *wanted,
                      size_t wanted_length,
                      RooflutHandle stop,
                      RooflutHandle *plan,
                      struct RooflutError *error);

// Returns what step times alone say about a plan, as a text of JSON: the fewest GPUs of each kind of server that may
// meet the limits, and the kinds that cannot. Takes the arguments of `rooflut_plan`, and a fraction of its time.
uint32_t rooflut_plan_least(const struct RooflutScenarioSource *source,
                            const char *wanted,
                            size_t wanted_length,
                            RooflutHandle *least,
                            struct RooflutError *error);

// Frees the object of a handle of any kind.
//
// An object that another thread uses is not freed (`ROOFLUT_CODE_BUSY`). Objects do not depend on each other: a
// scenario may be freed before its servers.
uint32_t rooflut_free(RooflutHandle handle,
                      struct RooflutError *error);

// Simulates the scenario and returns a text; `output` is a `RooflutOutput`, `stop` a stop or 0.
uint32_t rooflut_scenario_run(RooflutHandle scenario,
                              uint32_t output,
                              RooflutHandle stop,
                              RooflutHandle *text,
                              struct RooflutError *error);

// Compares two reports and returns a text of JSON: settings that differ, figures, and the terms of the differences.
uint32_t rooflut_compare(const char *a,
                         size_t a_length,
                         const char *b,
                         size_t b_length,
                         RooflutHandle *comparison,
                         struct RooflutError *error);

// Finds the highest rate that the servers of a scenario serve within limits, and returns a text of JSON: what
// `rooflut saturate --json` prints. Where no rate meets the limits, `within_limits` is null.
//
// `wanted` is an object of JSON, or empty: `goodput`, a list of limits such as `"ttft:500"` or `"tpot:20@p95"`
// (without it, the servers must only keep up), `attainment`, `confidence`, `tolerance`. `stop` is a stop
// or 0. Takes seconds, on all processors.
uint32_t rooflut_saturate(const struct RooflutScenarioSource *source,
                          const char *wanted,
                          size_t wanted_length,
                          RooflutHandle stop,
                          RooflutHandle *saturation,
                          struct RooflutError *error);

// Checks a scenario, looks every kernel up and reads the load.
//
// Steps are timed on one server of the scenario. `rooflut_server_new` returns such a server; `rooflut_scenario_run`
// simulates all servers under the load. Traces, and files of lengths and prices, are read from their paths.
uint32_t rooflut_scenario_new(const struct RooflutScenarioSource *source,
                              RooflutHandle *scenario,
                              struct RooflutError *error);

// Returns the scenario with another seed, of the load and of the acceptance of drafts.
uint32_t rooflut_scenario_with_seed(RooflutHandle scenario,
                                    uint64_t seed,
                                    RooflutHandle *reseeded,
                                    struct RooflutError *error);

// Returns the scenario at another rate, requests (or sessions) per second.
uint32_t rooflut_scenario_with_rate(RooflutHandle scenario,
                                    double rate,
                                    RooflutHandle *at_rate,
                                    struct RooflutError *error);

// Returns a server of the scenario at time 0, without requests.
//
// One thread may use a server at a time; a call of another meanwhile is an error (`ROOFLUT_CODE_BUSY`).
uint32_t rooflut_server_new(RooflutHandle scenario,
                            RooflutHandle *server,
                            struct RooflutError *error);

// Returns a server of the scenario as one of separate prefill and decode servers, for a router of the caller.
//
// `role` is a `RooflutRole`. Add a request with one output token to a prefill server, and when that has finished the
// whole request to a decode server, with the time at which its KV entries are there as its arrival. A prefill server
// delays no outputs in the API server; a decode server has no API server before the engine, no queue limit and no
// patience of clients.
uint32_t rooflut_server_new_stage(RooflutHandle scenario,
                                  uint32_t role,
                                  RooflutHandle *server,
                                  struct RooflutError *error);

// Returns a copy of a server: it has the same clock, requests, KV cache and events, and goes on by itself.
uint32_t rooflut_server_copy(RooflutHandle server,
                             RooflutHandle *copy,
                             struct RooflutError *error);

// Adds a request and writes its number: how many were added before it.
//
// Requests may be added in any order of arrival, not before the current time.
uint32_t rooflut_server_push(RooflutHandle server,
                             const struct RooflutRequest *request,
                             uint64_t *number,
                             struct RooflutError *error);

// Cancels a request that waits, runs or is still to arrive: its KV blocks are freed, and its last event has the outcome
// `ROOFLUT_OUTCOME_CANCELLED`.
//
// It takes effect at the next step boundary, and at once for a request that arrives after the current time. A request
// whose last token comes from the step in flight is served all the same. A number that was never added, has finished or
// was cancelled is an error (`ROOFLUT_CODE_VALUE`).
uint32_t rooflut_server_cancel(RooflutHandle server,
                               uint64_t request,
                               struct RooflutError *error);

// Moves the clock to `to_ns`, runs all steps that begin before, and writes the state then.
//
// A step that ends at `to_ns` has ended; no step begins at `to_ns`, so requests that arrive at this time can still be
// added.
uint32_t rooflut_server_advance(RooflutHandle server,
                                uint64_t to_ns,
                                struct RooflutServerState *state,
                                struct RooflutError *error);

// Writes the state of a server.
uint32_t rooflut_server_state(RooflutHandle server,
                              struct RooflutServerState *state,
                              struct RooflutError *error);

// Writes the counts of all steps that have ended.
uint32_t rooflut_server_totals(RooflutHandle server,
                               struct RooflutServerTotals *totals,
                               struct RooflutError *error);

// Writes the oldest events to an array of `capacity` entries, removes them, and writes their number to `length`.
//
// If `length` is `capacity`, there may be more.
uint32_t rooflut_server_events(RooflutHandle server,
                               struct RooflutEvent *events,
                               size_t capacity,
                               size_t *length,
                               struct RooflutError *error);

// Runs one step to its end and writes its record. An idle server runs no step and writes a duration of 0.
//
// A server without work first waits for its next request. `rooflut_server_events` returns the events of the step.
uint32_t rooflut_server_step(RooflutHandle server,
                             struct RooflutStepRecord *record,
                             struct RooflutError *error);

// Writes the requests that had tokens in the last `rooflut_server_step` to an array of `capacity` entries, at least
// the record's `tokens_length`, and their number to `length`.
uint32_t rooflut_server_step_tokens(RooflutHandle server,
                                    struct RooflutYield *tokens,
                                    size_t capacity,
                                    size_t *length,
                                    struct RooflutError *error);

// Predicts the time of a step of one server of the scenario.
//
// An empty batch takes no time. Costs little more than the library's `total_time`; a batch of up to 1024 entries of
// each kind is not copied to the heap.
uint32_t rooflut_step_time(RooflutHandle scenario,
                           const struct RooflutBatch *batch,
                           struct RooflutDuration *time,
                           struct RooflutError *error);

// Predicts the time of a step by part.
uint32_t rooflut_step_parts(RooflutHandle scenario,
                            const struct RooflutBatch *batch,
                            struct RooflutStepTime *time,
                            struct RooflutError *error);

// Predicts the interval that is expected to contain `coverage` of the measurements of such steps, a share between 0
// and 1.
uint32_t rooflut_step_interval(RooflutHandle scenario,
                               const struct RooflutBatch *batch,
                               double coverage,
                               struct RooflutInterval *interval,
                               struct RooflutError *error);

// Lists the kernels of a step with their work and times, and the peaks of the GPU, and returns a text of JSON: the keys
// `kernels` and `peaks` of what `rooflut step --json` prints.
uint32_t rooflut_step_kernels(RooflutHandle scenario,
                              const struct RooflutBatch *batch,
                              RooflutHandle *kernels,
                              struct RooflutError *error);

// Predicts the times of many steps: `times` has `times_length` entries, as many as `steps` has steps.
//
// If a step is invalid, no entry of `times` is meaningful; the message names step and entry.
uint32_t rooflut_step_times(RooflutHandle scenario,
                            const struct RooflutSteps *steps,
                            struct RooflutDuration *times,
                            size_t times_length,
                            struct RooflutError *error);

// Makes a stop. Another thread can use the stop to end runs and searches early.
uint32_t rooflut_stop_new(RooflutHandle *stop, struct RooflutError *error);

// Ends the calls that were given a stop, and later ones at once: they fail with `ROOFLUT_CODE_STOPPED`. Does nothing
// more when it is called again.
//
// A simulation ends in its midst. What comes before it is not interrupted: a trace that is read, a load that a plan
// generates.
uint32_t rooflut_stop(RooflutHandle stop,
                      struct RooflutError *error);

// Simulates all combinations of the values of some keys, and returns a text of CSV with a row for each: what
// `rooflut sweep --scenario` prints.
//
// The TOML of `source` has lists of values in a table `[sweep]`. An object in place of a name excludes a list of such
// names. A deployment that cannot be run is a row with an error. `stop` is a stop or 0. Runs on all processors; a grid
// of many deployments takes minutes.
uint32_t rooflut_sweep(const struct RooflutScenarioSource *source,
                       RooflutHandle stop,
                       RooflutHandle *csv,
                       struct RooflutError *error);

// Returns a built-in table set by its name; case does not matter.
uint32_t rooflut_tables_find(const char *name,
                             size_t name_length,
                             RooflutHandle *tables,
                             struct RooflutError *error);

// Reads a table set from a folder, or from one file.
uint32_t rooflut_tables_load(const char *path,
                             size_t path_length,
                             RooflutHandle *tables,
                             struct RooflutError *error);

// Returns name, GPU, source and measured operations of a table set as a text of JSON.
uint32_t rooflut_tables_describe(RooflutHandle tables,
                                 RooflutHandle *description,
                                 struct RooflutError *error);

// Returns the names of the built-in table sets as a text of JSON, a list.
uint32_t rooflut_tables_names(RooflutHandle *names, struct RooflutError *error);

// Returns the version of rooflut, a text that ends with a zero and is never freed.
const char *rooflut_version(void);

// Copies a text to `buffer` and writes its length in bytes to `length`. UTF-8; no zero follows.
//
// With a `capacity` of 0 only the length is written. A text that is longer than `capacity` is not copied, and is an
// error (`ROOFLUT_CODE_LENGTH`).
uint32_t rooflut_text_read(RooflutHandle text,
                           char *buffer,
                           size_t capacity,
                           size_t *length,
                           struct RooflutError *error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ROOFLUT_H */
