// The time of steps of a model on two GPUs, for a simulator of one's own.

#include <rooflut.h>
#include <stdio.h>
#include <string.h>

static int failed(const RooflutError *error) {
  fprintf(stderr, "%s\n", error->message);
  return 1;
}

int main(void) {
  const char *toml = "model = 'llama-3.1-8b'\ngpu = 'h100'\ntp = 2";
  RooflutScenarioSource source = {.toml = toml, .toml_length = strlen(toml)};
  RooflutError error;
  uint64_t scenario;
  if (rooflut_scenario_new(&source, &scenario, &error)) return failed(&error);
  for (uint32_t requests = 1; requests <= 256; requests *= 4) {
    RooflutDecodeGroup decode = {.requests = requests, .kv_tokens = 1000ull * requests};
    RooflutBatch batch = {.decode = &decode, .decode_length = 1};
    RooflutDuration time;
    if (rooflut_step_time(scenario, &batch, &time, &error)) return failed(&error);
    printf("%3u requests: %8llu ns\n", requests, (unsigned long long)time.nanoseconds);
  }
  return (int)rooflut_free(scenario, &error);
}
