// Bad input is an error with its cause, and never harms the process. Run it under valgrind or with AddressSanitizer.

#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rooflut.h"

static RooflutError error;
static int failures;

static void expect(const char *what, uint32_t code, uint32_t expected, const char *message) {
  const char *found = code == ROOFLUT_CODE_OK ? "" : error.message;
  if (code != expected || !strstr(found, message)) {
    fprintf(stderr, "%s: expected code %" PRIu32 " and \"%s\", found code %" PRIu32 " and \"%s\"\n", what, expected,
            message, code, found);
    failures++;
  }
}

#define EXPECT(call, expected, message) expect(#call, call, expected, message)
#define OK(call) expect(#call, call, ROOFLUT_CODE_OK, "")

static uint64_t open_scenario(const char *toml) {
  RooflutScenarioSource source = {.toml = toml, .toml_length = strlen(toml)};
  uint64_t scenario = 0;
  OK(rooflut_scenario_new(&source, &scenario, &error));
  return scenario;
}

static uint32_t source_of(const char *toml, size_t length) {
  RooflutScenarioSource source = {.toml = toml, .toml_length = length};
  uint64_t scenario;
  return rooflut_scenario_new(&source, &scenario, &error);
}

static void texts(void) {
  uint64_t out = 0;
  EXPECT(rooflut_model_find(NULL, 3, &out, &error), ROOFLUT_CODE_POINTER, "name: expected a pointer, found null");
  EXPECT(rooflut_model_find("llama-3.1-8b", 12, NULL, &error), ROOFLUT_CODE_POINTER, "model: expected a pointer, found null");
  EXPECT(rooflut_model_find("\xff\xfe", 2, &out, &error), ROOFLUT_CODE_UTF8, "name: expected UTF-8");
  EXPECT(rooflut_model_find("x", SIZE_MAX, &out, &error), ROOFLUT_CODE_LENGTH, "name: expected a text of at most 256 MiB");
  EXPECT(rooflut_model_find("llama-3.1-9b", 12, &out, &error), ROOFLUT_CODE_REFUSED, "nearest: llama-3.1-8b");
  EXPECT(rooflut_model_find("", 0, &out, NULL), ROOFLUT_CODE_REFUSED, "");
  EXPECT(rooflut_tables_find("h101", 4, &out, &error), ROOFLUT_CODE_REFUSED, "nearest: h100");
  EXPECT(rooflut_tables_load("/nonexistent", 12, &out, &error), ROOFLUT_CODE_REFUSED, "path: /nonexistent: expected");
  // A zero in a text does not end the message, which shows it escaped.
  EXPECT(rooflut_tables_load("/none\0xistent", 13, &out, &error), ROOFLUT_CODE_REFUSED, "path: /none\\u{0}xistent: expected");
  RooflutConfigFiles files = {.name = "m", .name_length = 1, .config = "[1]", .config_length = 3};
  EXPECT(rooflut_model_read(&files, &out, &error), ROOFLUT_CODE_REFUSED, "config: ");
  files.config_length = ((size_t)256 << 20) + 1;
  EXPECT(rooflut_model_read(&files, &out, &error), ROOFLUT_CODE_LENGTH, "config: expected a text of at most 256 MiB");
  files.config_length = 3;
  files.assume_llama = 7;
  EXPECT(rooflut_model_read(&files, &out, &error), ROOFLUT_CODE_VALUE, "assume_llama: expected 0 or 1, found 7");
  EXPECT(rooflut_model_read(NULL, &out, &error), ROOFLUT_CODE_POINTER, "files: ");
  EXPECT(rooflut_compare("{}", 2, "[]", 2, &out, &error), ROOFLUT_CODE_REFUSED, "a: ");
}

static void scenarios(void) {
  EXPECT(source_of("tp = ", 5), ROOFLUT_CODE_REFUSED, "toml: line 1");
  EXPECT(source_of("tpp = 2", 7), ROOFLUT_CODE_REFUSED, "unknown key");
  EXPECT(source_of("tp = 3", 6), ROOFLUT_CODE_REFUSED, "scenario: ");
  EXPECT(source_of("model = '\xff'", 11), ROOFLUT_CODE_UTF8, "toml: expected UTF-8");
  uint64_t scenario = open_scenario(""), derived = 0, text = 0, server = 0;
  OK(rooflut_scenario_with_rate(scenario, 3.5, &derived, &error));
  OK(rooflut_free(derived, &error));
  EXPECT(rooflut_scenario_with_rate(scenario, NAN, &derived, &error), ROOFLUT_CODE_REFUSED, "rate");
  EXPECT(rooflut_scenario_with_rate(scenario, -1, &derived, &error), ROOFLUT_CODE_REFUSED, "rate");
  EXPECT(rooflut_scenario_run(scenario, 99, 0, &text, &error), ROOFLUT_CODE_VALUE, "output: expected 0 to 3");
  OK(rooflut_scenario_run(scenario, ROOFLUT_OUTPUT_REQUESTS_CSV, 0, &text, &error));
  size_t length = 0;
  char small[8];
  EXPECT(rooflut_text_read(text, small, sizeof small, &length, &error), ROOFLUT_CODE_LENGTH, "capacity: ");
  OK(rooflut_text_read(text, NULL, 0, &length, &error));
  EXPECT(rooflut_text_read(text, NULL, 8, &length, &error), ROOFLUT_CODE_POINTER, "buffer: ");

  // Handles.
  EXPECT(rooflut_server_new(text, &server, &error), ROOFLUT_CODE_HANDLE, "expected a scenario, found a text");
  EXPECT(rooflut_server_new(0, &server, &error), ROOFLUT_CODE_HANDLE, "found 0");
  EXPECT(rooflut_server_new(UINT64_MAX, &server, &error), ROOFLUT_CODE_HANDLE, "which rooflut has not returned");
  EXPECT(rooflut_free(0, &error), ROOFLUT_CODE_HANDLE, "expected a handle, found 0");
  EXPECT(rooflut_free(text ^ (UINT64_C(1) << 40), &error), ROOFLUT_CODE_HANDLE, "not in use");
  EXPECT(rooflut_free(text + 1000000, &error), ROOFLUT_CODE_HANDLE, "not in use");
  OK(rooflut_free(text, &error));
  EXPECT(rooflut_free(text, &error), ROOFLUT_CODE_HANDLE, "not in use");
  EXPECT(rooflut_text_read(text, NULL, 0, &length, &error), ROOFLUT_CODE_HANDLE, "not in use");
  OK(rooflut_free(scenario, &error));
  EXPECT(rooflut_scenario_with_seed(scenario, 1, &derived, &error), ROOFLUT_CODE_HANDLE, "not in use");
}

// A row of bench_data/h100/attention_decode_window.csv: 14.66 us.
static void decode_within_a_window(void) {
  const char *kernel = "{\"decode_window\": {\"dtype\": \"bf16\", \"kv_dtype\": \"bf16\", \"q_heads\": 2, \"kv_heads\": 1,"
                       " \"head_dim\": 256, \"window\": 1024}}";
  uint64_t tables = 0, lookup = 0;
  OK(rooflut_tables_find("h100", 4, &tables, &error));
  OK(rooflut_lookup_new(tables, kernel, strlen(kernel), &lookup, &error));
  RooflutEstimate estimate;
  OK(rooflut_lookup_at(lookup, 1, 4096, &estimate, &error));
  if (estimate.class_ != ROOFLUT_CLASS_MEASURED || fabs(estimate.seconds - 14.66e-6) > 1e-9) failures++;
  EXPECT(rooflut_lookup_at(lookup, 0, 4096, &estimate, &error), ROOFLUT_CODE_VALUE, "batch: expected at least 1");
  OK(rooflut_free(lookup, &error));
  OK(rooflut_free(tables, &error));
}

static void lookups(void) {
  uint64_t tables = 0, lookup = 0;
  OK(rooflut_tables_find("H100", 4, &tables, &error));
  const char *wrong[] = {"", "{}", "{\"gemm\": {}}", "{\"gem\": {}}", "{\"gemm\": {\"dtype\": \"fp5\", \"k\": 1, \"n\": 1}}",
                         "{\"gemm\": {\"dtype\": \"bf16\", \"k\": -1, \"n\": 1}}"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    EXPECT(rooflut_lookup_new(tables, wrong[i], strlen(wrong[i]), &lookup, &error), ROOFLUT_CODE_REFUSED, "kernel: ");
  const char *gemm = "{\"gemm\": {\"dtype\": \"bf16\", \"k\": 4096, \"n\": 6144}}";
  OK(rooflut_lookup_new(tables, gemm, strlen(gemm), &lookup, &error));
  OK(rooflut_free(tables, &error));
  RooflutEstimate estimate;
  OK(rooflut_lookup_at(lookup, 0, 100, &estimate, &error));
  if (!(estimate.seconds > 1e-6 && estimate.seconds < 1e-4)) failures++;
  EXPECT(rooflut_lookup_at(lookup, 1, 100, &estimate, &error), ROOFLUT_CODE_VALUE, "batch: expected 0");
  EXPECT(rooflut_lookup_at(lookup, 0, 0, &estimate, &error), ROOFLUT_CODE_VALUE, "size: ");
  EXPECT(rooflut_lookup_at(lookup, 0, UINT64_MAX, &estimate, &error), ROOFLUT_CODE_VALUE, "size: ");
  EXPECT(rooflut_lookup_at(lookup, 0, 1, NULL, &error), ROOFLUT_CODE_POINTER, "estimate: ");
  OK(rooflut_free(lookup, &error));
  decode_within_a_window();
}

static void steps(void) {
  uint64_t scenario = open_scenario("model = 'llama-3.1-8b'");
  RooflutDecodeGroup decode[2000];
  for (size_t i = 0; i < 2000; i++) decode[i] = (RooflutDecodeGroup){.requests = 1, .kv_tokens = 100};
  RooflutChunk chunk = {.new_tokens = 16, .kv_len = 16, .is_last = 1};
  RooflutBatch batch = {.decode = decode, .decode_length = 2000, .prefill = &chunk, .prefill_length = 1};
  RooflutDuration time;
  // Few, many and very many entries.
  for (size_t length = 1; length <= 2000; length = length * 10 < 2000 || length == 2000 ? length * 10 : 2000) {
    batch.decode_length = length;
    OK(rooflut_step_time(scenario, &batch, &time, &error));
  }
  batch.decode_length = 50;
  decode[3].kv_tokens = 0;
  EXPECT(rooflut_step_time(scenario, &batch, &time, &error), ROOFLUT_CODE_VALUE, "decode[3].kv_tokens: expected at least 1");
  decode[3].kv_tokens = 100;
  decode[0].outside_tokens = UINT64_MAX;
  EXPECT(rooflut_step_time(scenario, &batch, &time, &error), ROOFLUT_CODE_VALUE, "decode[0].outside_tokens: ");
  decode[0] = (RooflutDecodeGroup){.requests = UINT32_MAX, .kv_tokens = UINT64_MAX, .drafted = UINT32_MAX};
  OK(rooflut_step_time(scenario, &batch, &time, &error));
  chunk.is_last = 2;
  EXPECT(rooflut_step_time(scenario, &batch, &time, &error), ROOFLUT_CODE_VALUE, "prefill[0].is_last: expected 0 or 1, found 2");
  chunk = (RooflutChunk){.new_tokens = 0};
  EXPECT(rooflut_step_time(scenario, &batch, &time, &error), ROOFLUT_CODE_VALUE, "prefill[0].new_tokens: expected at least 1");
  batch.prefill = NULL;
  EXPECT(rooflut_step_time(scenario, &batch, &time, &error), ROOFLUT_CODE_POINTER, "prefill: ");
  batch.prefill = (const RooflutChunk *)((const char *)&chunk + 1);
  EXPECT(rooflut_step_time(scenario, &batch, &time, &error), ROOFLUT_CODE_POINTER, "prefill: expected a pointer to a multiple");
  batch.prefill = &chunk;
  batch.prefill_length = SIZE_MAX;
  EXPECT(rooflut_step_time(scenario, &batch, &time, &error), ROOFLUT_CODE_LENGTH, "prefill: ");
  batch.prefill_length = SIZE_MAX / sizeof chunk;
  EXPECT(rooflut_step_time(scenario, &batch, &time, &error), ROOFLUT_CODE_LENGTH, "prefill: ");
  batch.prefill_length = 0;
  EXPECT(rooflut_step_time(scenario, NULL, &time, &error), ROOFLUT_CODE_POINTER, "batch: ");
  EXPECT(rooflut_step_time(scenario, &batch, NULL, &error), ROOFLUT_CODE_POINTER, "time: expected a pointer, found null");
  RooflutInterval interval;
  EXPECT(rooflut_step_interval(scenario, &batch, NAN, &interval, &error), ROOFLUT_CODE_VALUE, "coverage: expected");
  EXPECT(rooflut_step_interval(scenario, &batch, 1.5, &interval, &error), ROOFLUT_CODE_VALUE, "coverage: ");
  batch = (RooflutBatch){0};
  OK(rooflut_step_time(scenario, &batch, &time, &error));
  if (time.nanoseconds != 0) failures++;
  if (strcmp(rooflut_part_name(ROOFLUT_PART_HOST), "host") || strcmp(rooflut_part_name(UINT32_MAX), "unknown")) failures++;
  OK(rooflut_free(scenario, &error));
}

static void steps_at_once(void) {
  uint64_t scenario = open_scenario("");
  uint64_t offsets[] = {0, 1, 3}, kv_tokens[] = {100, 100, 100};
  uint32_t requests[] = {1, 1, 1};
  RooflutDuration times[2];
  RooflutSteps many = {.length = 2, .decode_offsets = offsets, .decode_requests = requests, .decode_kv_tokens = kv_tokens, .decode_length = 3};
  OK(rooflut_step_times(scenario, &many, times, 2, &error));
  EXPECT(rooflut_step_times(scenario, &many, times, 3, &error), ROOFLUT_CODE_LENGTH, "times_length: expected 2 entries");
  kv_tokens[2] = 0;
  EXPECT(rooflut_step_times(scenario, &many, times, 2, &error), ROOFLUT_CODE_VALUE, "step 1: decode[1].kv_tokens: ");
  kv_tokens[2] = 100;
  offsets[1] = 4;
  EXPECT(rooflut_step_times(scenario, &many, times, 2, &error), ROOFLUT_CODE_LENGTH, "decode_offsets[2]: ");
  offsets[1] = 1;
  offsets[2] = 2;
  EXPECT(rooflut_step_times(scenario, &many, times, 2, &error), ROOFLUT_CODE_LENGTH, "decode_offsets[2]: expected 3");
  offsets[0] = 1;
  EXPECT(rooflut_step_times(scenario, &many, times, 2, &error), ROOFLUT_CODE_LENGTH, "decode_offsets[0]: expected 0");
  many.decode_requests = NULL;
  offsets[0] = 0;
  offsets[2] = 3;
  EXPECT(rooflut_step_times(scenario, &many, times, 2, &error), ROOFLUT_CODE_POINTER, "decode_requests: ");
  many.length = SIZE_MAX;
  EXPECT(rooflut_step_times(scenario, &many, times, SIZE_MAX, &error), ROOFLUT_CODE_LENGTH, "decode_offsets: ");
  OK(rooflut_free(scenario, &error));
}

static void server(void) {
  uint64_t scenario = open_scenario("[server]\nmax_num_seqs = 4"), server = 0, number = 0;
  EXPECT(rooflut_server_new_stage(scenario, 3, &server, &error), ROOFLUT_CODE_VALUE, "role: expected 0 to 2");
  // The prompt of a decode server is there: its first step has one token of it.
  OK(rooflut_server_new_stage(scenario, ROOFLUT_ROLE_DECODE, &server, &error));
  RooflutRequest delivered = {.arrival_ns = 7, .prompt_tokens = 100, .output_tokens = 10};
  RooflutStepRecord decoded;
  OK(rooflut_server_push(server, &delivered, &number, &error));
  OK(rooflut_server_step(server, &decoded, &error));
  if (decoded.start_ns != 7 || decoded.prefill_tokens != 1) {
    fprintf(stderr, "a decode server computes the prompt again\n");
    failures++;
  }
  OK(rooflut_free(server, &error));
  OK(rooflut_server_new(scenario, &server, &error));
  // A server keeps what it needs.
  OK(rooflut_free(scenario, &error));
  RooflutRequest request = {.prompt_tokens = 100, .output_tokens = 10};
  OK(rooflut_server_push(server, &request, &number, &error));
  // A copy goes on by itself.
  uint64_t copy = 0;
  RooflutServerState state;
  EXPECT(rooflut_server_copy(0, &copy, &error), ROOFLUT_CODE_HANDLE, "found 0");
  EXPECT(rooflut_server_copy(server, NULL, &error), ROOFLUT_CODE_POINTER, "copy: ");
  OK(rooflut_server_copy(server, &copy, &error));
  OK(rooflut_server_advance(copy, 1000000000, &state, &error));
  uint32_t copy_is_idle = state.is_idle;
  OK(rooflut_server_state(server, &state, &error));
  if (!copy_is_idle || state.is_idle || state.now_ns != 0) {
    fprintf(stderr, "a copy does not go on by itself\n");
    failures++;
  }
  OK(rooflut_free(copy, &error));
  request.prompt_tokens = 0;
  EXPECT(rooflut_server_push(server, &request, &number, &error), ROOFLUT_CODE_REFUSED, "request: the prompt is empty");
  request.prompt_tokens = UINT32_MAX;
  EXPECT(rooflut_server_push(server, &request, &number, &error), ROOFLUT_CODE_REFUSED, "request: prompt and output have");
  request.prompt_tokens = 10;
  request.prefix_tokens = 5;
  EXPECT(rooflut_server_push(server, &request, &number, &error), ROOFLUT_CODE_VALUE, "prefix_tokens: expected 0 unless");
  request.prefix_tokens = 0;
  request.content = 3;
  EXPECT(rooflut_server_push(server, &request, &number, &error), ROOFLUT_CODE_VALUE, "content: expected 0 to 2");
  request.content = ROOFLUT_CONTENT_TRACE_BLOCKS;
  EXPECT(rooflut_server_push(server, &request, &number, &error), ROOFLUT_CODE_VALUE, "block_tokens: ");
  request.block_tokens = 16;
  request.block_ids_length = 2;
  EXPECT(rooflut_server_push(server, &request, &number, &error), ROOFLUT_CODE_POINTER, "block_ids: ");
  uint64_t ids[] = {7, 8};
  request.block_ids = ids;
  request.content = ROOFLUT_CONTENT_UNIQUE;
  EXPECT(rooflut_server_push(server, &request, &number, &error), ROOFLUT_CODE_VALUE, "block_ids_length: expected 0 unless");
  request.content = ROOFLUT_CONTENT_TRACE_BLOCKS;
  OK(rooflut_server_push(server, &request, &number, &error));
  RooflutStepRecord record;
  OK(rooflut_server_step(server, &record, &error));
  RooflutYield tokens[1];
  size_t length;
  if (record.tokens_length > 1)
    EXPECT(rooflut_server_step_tokens(server, tokens, 1, &length, &error), ROOFLUT_CODE_LENGTH, "capacity: ");
  OK(rooflut_server_advance(server, UINT64_C(60000000000), &state, &error));
  if (!state.is_idle) failures++;
  EXPECT(rooflut_server_advance(server, 0, &state, &error), ROOFLUT_CODE_VALUE, "to_ns: expected at least 60000000000 (now), found 0");
  EXPECT(rooflut_server_push(server, &request, &number, &error), ROOFLUT_CODE_VALUE, "arrival_ns: expected at least 60000000000 (now)");
  EXPECT(rooflut_server_events(server, NULL, 4, &length, &error), ROOFLUT_CODE_POINTER, "events: ");
  RooflutEvent events[8];
  OK(rooflut_server_events(server, events, 8, &length, &error));
  if (length != 4) failures++;
  EXPECT(rooflut_server_cancel(server, 0, &error), ROOFLUT_CODE_VALUE, "request 0: expected one that was pushed and has not finished");
  EXPECT(rooflut_server_cancel(server, UINT64_MAX, &error), ROOFLUT_CODE_VALUE, "request 18446744073709551615: ");
  EXPECT(rooflut_server_cancel(0, 0, &error), ROOFLUT_CODE_HANDLE, "found 0");
  request.arrival_ns = state.now_ns + 1;
  OK(rooflut_server_push(server, &request, &number, &error));
  OK(rooflut_server_cancel(server, number, &error));
  OK(rooflut_server_events(server, events, 8, &length, &error));
  if (length != 1 || events[0].request != number || events[0].kind != ROOFLUT_EVENT_KIND_FINISHED ||
      events[0].outcome != ROOFLUT_OUTCOME_CANCELLED || strcmp(rooflut_outcome_name(events[0].outcome), "cancelled") != 0) {
    fprintf(stderr, "a cancelled request has no last event that says so\n");
    failures++;
  }
  OK(rooflut_free(server, &error));
  EXPECT(rooflut_server_state(server, &state, &error), ROOFLUT_CODE_HANDLE, "not in use");
}

typedef uint32_t Search(const RooflutScenarioSource *, const char *, size_t, uint64_t, uint64_t *, RooflutError *);

static uint32_t searched(Search *search, const char *toml, const char *wanted, uint64_t stop) {
  RooflutScenarioSource source = {.toml = toml, .toml_length = strlen(toml)};
  uint64_t text;
  return search(&source, wanted, wanted ? strlen(wanted) : 7, stop, &text, &error);
}

static uint32_t asked(Search *search, const char *toml, const char *wanted) { return searched(search, toml, wanted, 0); }

static uint32_t fitted(const char *toml, const char *wanted) {
  RooflutScenarioSource source = {.toml = toml, .toml_length = strlen(toml)};
  uint64_t text;
  return rooflut_fits(&source, wanted, strlen(wanted), &text, &error);
}

static uint32_t swept(const char *toml, uint64_t tables) {
  RooflutScenarioSource source = {.toml = toml, .toml_length = strlen(toml), .tables = tables};
  uint64_t text;
  return rooflut_sweep(&source, 0, &text, &error);
}

static void searches(void) {
  EXPECT(asked(rooflut_plan, "", ""), ROOFLUT_CODE_REFUSED, "wanted: missing field `goodput`");
  EXPECT(asked(rooflut_plan, "", "{\"goodput\": [\"ttft:NaN\"]}"), ROOFLUT_CODE_REFUSED, "wanted: goodput: ");
  EXPECT(asked(rooflut_plan, "", "{\"goodput\": [], \"tp\": [0]}"), ROOFLUT_CODE_REFUSED, "wanted: goodput: ");
  EXPECT(asked(rooflut_plan, "", "{\"goodput\": [\"ttft:9\"], \"gpu\": [\"h101\"]}"), ROOFLUT_CODE_REFUSED, "nearest: h100");
  EXPECT(asked(rooflut_plan, "", "{\"goodput\": [\"ttft:9\"], \"max_gpus\": 0}"), ROOFLUT_CODE_REFUSED, "max_gpus: expected");
  EXPECT(asked(rooflut_plan, "", NULL), ROOFLUT_CODE_POINTER, "wanted: ");
  EXPECT(asked(rooflut_plan, "", "\xff"), ROOFLUT_CODE_UTF8, "wanted: ");
  EXPECT(asked(rooflut_saturate, "", "{\"attainment\": 0.9}"), ROOFLUT_CODE_REFUSED, "attainment: expected goodput");
  EXPECT(asked(rooflut_saturate, "", "{\"tolerance\": -1}"), ROOFLUT_CODE_REFUSED, "tolerance: expected");
  EXPECT(asked(rooflut_saturate, "[workload]\nrate = 1", ""), ROOFLUT_CODE_REFUSED, "rate");
  EXPECT(fitted("", "{\"batches\": 1}"), ROOFLUT_CODE_REFUSED, "unknown field `batches`");
  EXPECT(fitted("[output]\nprices = '/nonexistent'", ""), ROOFLUT_CODE_REFUSED, "/nonexistent");
  EXPECT(swept("[sweep]\ntp = [1, 'x']", 0), ROOFLUT_CODE_REFUSED, "toml: line 2: tp: expected");
  EXPECT(swept("[sweep]\ntp = []", 0), ROOFLUT_CODE_REFUSED, "tp: expected at least one value");
  EXPECT(swept("[sweep]\nrate = '1..3000'\nseed = '1..3000'", 0), ROOFLUT_CODE_REFUSED, "at most 1_000_000 deployments, found 9_000_000");
  EXPECT(swept("[sweep]\ngpu = ['h100', 'h101']", 0), ROOFLUT_CODE_REFUSED, "nearest: h100");
  EXPECT(swept("[sweep]\ngpu = ['h100', 'h200']", 1), ROOFLUT_CODE_REFUSED, "gpu: expected either an object or a list");
  EXPECT(rooflut_sweep(NULL, 0, NULL, &error), ROOFLUT_CODE_POINTER, "csv: expected a pointer, found null");
}

// What another thread runs until it is stopped.
typedef struct Stoppable {
  uint64_t scenario, stop;
  RooflutError error;
  uint32_t code;
} Stoppable;

static void *run_until(void *argument) {
  Stoppable *it = argument;
  uint64_t text;
  it->code = rooflut_scenario_run(it->scenario, ROOFLUT_OUTPUT_REPORT, it->stop, &text, &it->error);
  return NULL;
}

static void stops(void) {
  // Takes a minute and more.
  uint64_t scenario = open_scenario("[workload]\nrate = 20\nrequests = 10_000_000"), stop = 0, text = 0;
  EXPECT(rooflut_stop_new(NULL, &error), ROOFLUT_CODE_POINTER, "stop: ");
  EXPECT(rooflut_stop(0, &error), ROOFLUT_CODE_HANDLE, "expected a stop, found 0");
  EXPECT(rooflut_stop(scenario, &error), ROOFLUT_CODE_HANDLE, "expected a stop, found a scenario");
  EXPECT(rooflut_scenario_run(scenario, 0, scenario, &text, &error), ROOFLUT_CODE_HANDLE, "expected a stop");
  OK(rooflut_stop_new(&stop, &error));
  Stoppable run = {.scenario = scenario, .stop = stop};
  pthread_t runner;
  pthread_create(&runner, NULL, run_until, &run);
  nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
  OK(rooflut_stop(stop, &error));
  pthread_join(runner, NULL);
  error = run.error;
  expect("run_until", run.code, ROOFLUT_CODE_STOPPED, "stopped before its end");
  OK(rooflut_stop(stop, &error));
  EXPECT(rooflut_scenario_run(scenario, 0, stop, &text, &error), ROOFLUT_CODE_STOPPED, "stopped before its end");
  const char *wanted = "{\"goodput\": [\"ttft:900\"]}";
  EXPECT(searched(rooflut_plan, "", wanted, stop), ROOFLUT_CODE_STOPPED, "stopped before its end");
  EXPECT(searched(rooflut_saturate, "", wanted, stop), ROOFLUT_CODE_STOPPED, "stopped before its end");
  RooflutScenarioSource source = {.toml = "[sweep]\ntp = [1, 2]", .toml_length = 19};
  EXPECT(rooflut_sweep(&source, stop, &text, &error), ROOFLUT_CODE_STOPPED, "stopped before its end");
  OK(rooflut_free(stop, &error));
  EXPECT(rooflut_stop(stop, &error), ROOFLUT_CODE_HANDLE, "not in use");
  EXPECT(rooflut_sweep(&source, stop, &text, &error), ROOFLUT_CODE_HANDLE, "not in use");
  OK(rooflut_free(scenario, &error));
}

static uint64_t shared_server;
static atomic_int other;

// Threads that use one server at once, and objects of their own.
static void *use(void *scenario) {
  RooflutError mine;
  for (int i = 0; i < 2000; i++) {
    RooflutServerState state;
    uint32_t code = rooflut_server_state(shared_server, &state, &mine);
    if (code != ROOFLUT_CODE_OK && code != ROOFLUT_CODE_BUSY) atomic_fetch_add(&other, 1);
    RooflutDecodeGroup group = {.requests = 8, .kv_tokens = 8000};
    RooflutBatch batch = {.decode = &group, .decode_length = 1};
    RooflutDuration time;
    if (rooflut_step_time(*(uint64_t *)scenario, &batch, &time, &mine) != ROOFLUT_CODE_OK) atomic_fetch_add(&other, 1);
    uint64_t tables;
    if (rooflut_tables_find("h100", 4, &tables, &mine) != ROOFLUT_CODE_OK || rooflut_free(tables, &mine) != ROOFLUT_CODE_OK)
      atomic_fetch_add(&other, 1);
  }
  return NULL;
}

static atomic_int is_done;

// Runs all requests of the shared server in one call, which other threads may delay.
static void *advance(void *end) {
  RooflutError mine;
  RooflutServerState state;
  uint32_t code;
  do code = rooflut_server_advance(shared_server, *(uint64_t *)end, &state, &mine);
  while (code == ROOFLUT_CODE_BUSY);
  if (code != ROOFLUT_CODE_OK) atomic_fetch_add(&other, 1);
  is_done = 1;
  return NULL;
}

// Counts the calls that are refused while another thread runs requests that arrive at `start`.
static int refused_while_busy(int requests, uint64_t start, uint64_t end) {
  RooflutRequest request = {.arrival_ns = start, .prompt_tokens = 200, .output_tokens = 100};
  uint64_t number;
  for (int i = 0; i < requests; i++) OK(rooflut_server_push(shared_server, &request, &number, &error));
  int refused = 0;
  pthread_t runner;
  is_done = 0;
  pthread_create(&runner, NULL, advance, &end);
  while (!is_done) {
    RooflutServerState state;
    if (rooflut_server_state(shared_server, &state, &error) != ROOFLUT_CODE_BUSY) {
      // Leaves the server to the runner, which valgrind would otherwise only let try in the middle of a call.
      sched_yield();
      continue;
    }
    if (refused++ == 0) expect("busy", error.code, ROOFLUT_CODE_BUSY, "expected a server that no other thread uses");
  }
  pthread_join(runner, NULL);
  return refused;
}

static void threads(void) {
  uint64_t scenario = open_scenario("");
  OK(rooflut_server_new(scenario, &shared_server, &error));
  pthread_t started[4];
  for (int i = 0; i < 4; i++) pthread_create(&started[i], NULL, use, &scenario);
  for (int i = 0; i < 4; i++) pthread_join(started[i], NULL);
  // A busy machine may run a whole call before another thread gets its turn: try again, with longer calls.
  uint64_t hour = UINT64_C(3600000000000);
  int refused = 0;
  for (int round = 1; round <= 20 && refused == 0; round++)
    refused = refused_while_busy(5000 * round, (round - 1) * hour, round * hour);
  if (refused == 0) {
    fprintf(stderr, "threads: expected calls that find the server in use, found none\n");
    failures++;
  }
  if (other != 0) {
    fprintf(stderr, "threads: %d calls failed for another reason than a busy server\n", (int)other);
    failures++;
  }
  OK(rooflut_free(shared_server, &error));
  OK(rooflut_free(scenario, &error));
}

int main(void) {
  texts();
  scenarios();
  lookups();
  searches();
  stops();
  steps();
  steps_at_once();
  server();
  threads();
  printf("rooflut %s: %s\n", rooflut_version(), failures ? "failures" : "bad input is refused");
  return failures != 0;
}
