// The program of bindings/agreement in C.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rooflut.h"

enum { STEPS = 10000, REQUESTS = 100, SEEDS = 20, MOST_SCENARIOS = 16, MOST_ENTRIES = 3 };

static RooflutError error;

static void check(uint32_t code, const char *what) {
  if (code != ROOFLUT_CODE_OK) {
    fprintf(stderr, "%s: %s\n", what, error.message);
    exit(1);
  }
}

static uint64_t state;

// Splitmix64.
static uint64_t draw(uint64_t modulus) {
  state += UINT64_C(0x9e3779b97f4a7c15);
  uint64_t bits = state;
  bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (bits ^ (bits >> 31)) % modulus;
}

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

// Reads a file; the caller frees it.
static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) {
    perror(path);
    exit(1);
  }
  fseek(file, 0, SEEK_END);
  long length = ftell(file);
  rewind(file);
  char *text = malloc((size_t)length + 1);
  if (fread(text, 1, (size_t)length, file) != (size_t)length) exit(1);
  text[length] = 0;
  fclose(file);
  return text;
}

static size_t open_all(const char *text, uint64_t *scenarios) {
  size_t count = 0;
  for (const char *start = text; start && count < MOST_SCENARIOS; count++) {
    const char *end = strstr(start, "---\n");
    RooflutScenarioSource source = {0};
    source.toml = start;
    source.toml_length = end ? (size_t)(end - start) : strlen(start);
    check(rooflut_scenario_new(&source, &scenarios[count], &error), "scenario");
    start = end ? end + 4 : NULL;
  }
  return count;
}

typedef struct {
  RooflutChunk prefill[MOST_ENTRIES];
  RooflutDecodeGroup decode[MOST_ENTRIES];
  RooflutBatch batch;
} Drawn;

static void draw_batch(uint64_t index, Drawn *drawn) {
  state = index;
  drawn->batch.prefill = drawn->prefill;
  drawn->batch.prefill_length = (size_t)draw(4);
  for (size_t i = 0; i < drawn->batch.prefill_length; i++) {
    RooflutChunk *chunk = &drawn->prefill[i];
    chunk->new_tokens = 1 + (uint32_t)draw(2048);
    chunk->kv_len = chunk->new_tokens + (uint32_t)draw(8192);
    chunk->is_last = (uint8_t)draw(2);
  }
  drawn->batch.decode = drawn->decode;
  drawn->batch.decode_length = (size_t)draw(4);
  for (size_t i = 0; i < drawn->batch.decode_length; i++) {
    RooflutDecodeGroup *group = &drawn->decode[i];
    group->requests = 1 + (uint32_t)draw(64);
    group->drafted = (uint32_t)draw(3);
    uint64_t kv_len = 1 + draw(8192) + group->drafted;
    group->kv_tokens = group->requests * kv_len;
    group->outside_tokens = 0;
  }
}

static void step(uint64_t index, uint64_t scenario) {
  Drawn drawn;
  draw_batch(index, &drawn);
  RooflutDuration time;
  check(rooflut_step_time(scenario, &drawn.batch, &time, &error), "step");
  printf("step %" PRIu64 " %016" PRIx64 " %" PRIu64 "\n", index, bits_of(time.seconds), time.nanoseconds);
  if (index % 10 == 0) {
    RooflutStepTime parts;
    check(rooflut_step_parts(scenario, &drawn.batch, &parts, &error), "parts");
    if (bits_of(parts.total.seconds) != bits_of(time.seconds)) exit(1);
    for (size_t i = 0; i < parts.parts_length; i++) {
      RooflutPartTime part = parts.parts[i];
      printf("part %" PRIu32 " %016" PRIx64 " %" PRIu32 " %" PRIu32 " %" PRIu32 "\n", part.part,
             bits_of(part.seconds), part.binding, part.class_, part.is_outside);
    }
  }
}

// All steps of a scenario in one call have the times that they have alone.
static void steps_at_once(uint64_t first, uint64_t stride, uint64_t scenario) {
  enum { MOST = STEPS * MOST_ENTRIES };
  static uint64_t prefill_offsets[STEPS + 1], decode_offsets[STEPS + 1], kv_tokens[MOST];
  static uint32_t new_tokens[MOST], kv_len[MOST], requests[MOST], drafted[MOST];
  static uint8_t is_last[MOST];
  static RooflutDuration times[STEPS];
  RooflutSteps steps = {0};
  for (uint64_t index = first; index < STEPS; index += stride) {
    Drawn drawn;
    draw_batch(index, &drawn);
    for (size_t i = 0; i < drawn.batch.prefill_length; i++, steps.prefill_length++) {
      new_tokens[steps.prefill_length] = drawn.prefill[i].new_tokens;
      kv_len[steps.prefill_length] = drawn.prefill[i].kv_len;
      is_last[steps.prefill_length] = drawn.prefill[i].is_last;
    }
    for (size_t i = 0; i < drawn.batch.decode_length; i++, steps.decode_length++) {
      requests[steps.decode_length] = drawn.decode[i].requests;
      kv_tokens[steps.decode_length] = drawn.decode[i].kv_tokens;
      drafted[steps.decode_length] = drawn.decode[i].drafted;
    }
    steps.length++;
    prefill_offsets[steps.length] = steps.prefill_length;
    decode_offsets[steps.length] = steps.decode_length;
  }
  steps.prefill_offsets = prefill_offsets;
  steps.prefill_new_tokens = new_tokens;
  steps.prefill_kv_len = kv_len;
  steps.prefill_is_last = is_last;
  steps.decode_offsets = decode_offsets;
  steps.decode_requests = requests;
  steps.decode_kv_tokens = kv_tokens;
  steps.decode_drafted = drafted;
  check(rooflut_step_times(scenario, &steps, times, steps.length, &error), "steps");
  for (uint64_t i = 0; i < steps.length; i++) {
    Drawn drawn;
    draw_batch(first + i * stride, &drawn);
    RooflutDuration alone;
    check(rooflut_step_time(scenario, &drawn.batch, &alone, &error), "step");
    if (bits_of(alone.seconds) != bits_of(times[i].seconds) || alone.nanoseconds != times[i].nanoseconds) {
      fprintf(stderr, "step %" PRIu64 ": expected the same time alone and among others\n", first + i * stride);
      exit(1);
    }
  }
}

static void drive(uint64_t scenario) {
  uint64_t server;
  check(rooflut_server_new(scenario, &server, &error), "server");
  for (uint64_t index = 0; index < REQUESTS; index++) {
    state = index;
    RooflutRequest request = {0};
    request.arrival_ns = draw(2000000000);
    request.prompt_tokens = 1 + (uint32_t)draw(1000);
    request.output_tokens = 1 + (uint32_t)draw(100);
    uint64_t number;
    check(rooflut_server_push(server, &request, &number, &error), "push");
    if (number != index) exit(1);
  }
  RooflutServerState now;
  check(rooflut_server_state(server, &now, &error), "state");
  while (!now.is_idle) {
    check(rooflut_server_advance(server, now.next_event_ns, &now, &error), "advance");
    RooflutEvent events[7];
    size_t length;
    do {
      check(rooflut_server_events(server, events, 7, &length, &error), "events");
      for (size_t i = 0; i < length; i++) {
        const char *kind = rooflut_event_kind_name(events[i].kind), *outcome = rooflut_outcome_name(events[i].outcome);
        printf("event %" PRIu64 " %s %s %" PRIu64 "\n", events[i].request, kind, outcome, events[i].at_ns);
        if (events[i].outcome == ROOFLUT_OUTCOME_NONE && events[i].request % 5 == 0) {
          RooflutError refused;
          printf("cancel %d\n", rooflut_server_cancel(server, events[i].request, &refused) == ROOFLUT_CODE_OK);
        }
      }
    } while (length == 7);
  }
  RooflutServerTotals totals;
  check(rooflut_server_totals(server, &totals, &error), "totals");
  printf("totals %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", totals.steps, totals.busy_ns, totals.output_tokens);
  check(rooflut_free(server, &error), "free");
}

static void print_text(uint64_t text) {
  size_t length;
  check(rooflut_text_read(text, NULL, 0, &length, &error), "text");
  char *buffer = malloc(length);
  check(rooflut_text_read(text, buffer, length, &length, &error), "text");
  fwrite(buffer, 1, length, stdout);
  free(buffer);
  check(rooflut_free(text, &error), "free");
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "expected the path of scenarios.txt\n");
    return 1;
  }
  uint64_t scenarios[MOST_SCENARIOS];
  char *text = read_file(argv[1]);
  size_t count = open_all(text, scenarios);
  free(text);
  for (uint64_t index = 0; index < STEPS; index++) step(index, scenarios[index % count]);
  for (uint64_t index = 0; index < count; index++) steps_at_once(index, count, scenarios[index]);
  for (size_t index = 0; index < count; index++) drive(scenarios[index]);
  for (size_t index = 0; index < count; index++) {
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
      uint64_t seeded, report;
      check(rooflut_scenario_with_seed(scenarios[index], seed, &seeded, &error), "seed");
      check(rooflut_scenario_run(seeded, ROOFLUT_OUTPUT_REPORT, 0, &report, &error), "run");
      printf("run %zu %" PRIu64 "\n", index, seed);
      print_text(report);
      check(rooflut_free(seeded, &error), "free");
    }
    check(rooflut_free(scenarios[index], &error), "free");
  }
  return 0;
}
