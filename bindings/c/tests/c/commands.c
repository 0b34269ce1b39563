// Prints what a function of the interface returns for a scenario: commands FUNCTION TOML WANTED.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rooflut.h"

static RooflutError error;

static uint32_t run(const RooflutScenarioSource *source, uint64_t *text) {
  uint64_t scenario;
  uint32_t code = rooflut_scenario_new(source, &scenario, &error);
  return code ? code : rooflut_scenario_run(scenario, ROOFLUT_OUTPUT_REPORT, 0, text, &error);
}

static uint32_t ask(const char *function, const RooflutScenarioSource *source, const char *wanted, uint64_t *text) {
  size_t length = strlen(wanted);
  if (!strcmp(function, "run")) return run(source, text);
  if (!strcmp(function, "sweep")) return rooflut_sweep(source, 0, text, &error);
  if (!strcmp(function, "fits")) return rooflut_fits(source, wanted, length, text, &error);
  if (!strcmp(function, "plan")) return rooflut_plan(source, wanted, length, 0, text, &error);
  if (!strcmp(function, "saturate")) return rooflut_saturate(source, wanted, length, 0, text, &error);
  fprintf(stderr, "expected run, sweep, fits, plan or saturate, found %s\n", function);
  exit(2);
}

int main(int argc, char **argv) {
  if (argc != 4) return fprintf(stderr, "expected FUNCTION TOML WANTED\n"), 2;
  RooflutScenarioSource source = {.toml = argv[2], .toml_length = strlen(argv[2])};
  uint64_t text;
  size_t length;
  if (ask(argv[1], &source, argv[3], &text) || rooflut_text_read(text, NULL, 0, &length, &error))
    return fprintf(stderr, "%s\n", error.message), 1;
  char *buffer = malloc(length);
  if (!buffer || rooflut_text_read(text, buffer, length, &length, &error)) return 1;
  fwrite(buffer, 1, length, stdout);
  free(buffer);
  return 0;
}
