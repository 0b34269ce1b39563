package rooflut

/*
#include <rooflut.h>

static uint32_t scenario_new(const char *toml, size_t length, uint64_t model, uint64_t draft, uint64_t tables,
                             uint64_t *scenario, RooflutError *error) {
  RooflutScenarioSource source = {
      .toml = toml, .toml_length = length, .model = model, .draft_model = draft, .tables = tables};
  return rooflut_scenario_new(&source, scenario, error);
}

enum { FITS, PLAN, SATURATE, SWEEP };

static uint32_t ask(uint32_t function, const char *toml, size_t length, uint64_t model, uint64_t draft, uint64_t tables,
                    const char *wanted, size_t wanted_length, uint64_t stop, uint64_t *text, RooflutError *error) {
  RooflutScenarioSource source = {
      .toml = toml, .toml_length = length, .model = model, .draft_model = draft, .tables = tables};
  switch (function) {
    case FITS: return rooflut_fits(&source, wanted, wanted_length, text, error);
    case PLAN: return rooflut_plan(&source, wanted, wanted_length, stop, text, error);
    case SATURATE: return rooflut_saturate(&source, wanted, wanted_length, stop, text, error);
    default: return rooflut_sweep(&source, stop, text, error);
  }
}
*/
import "C"

import "context"

// Scenario is a model on GPUs, its server and its load.
type Scenario struct{ handle handle }

// Source is a scenario as TOML, with objects in place of names in it.
type Source struct {
	TOML       string  // The keys of a scenario file of `rooflut run --scenario`; empty for the defaults.
	Model      *Model  // The model; nil for the built-in one that the TOML names.
	DraftModel *Model  // The draft model; nil for the built-in one that the TOML names, if there is one.
	Tables     *Tables // The tables; nil for those that the TOML names.
}

// NewScenario checks a scenario of built-in models, looks every kernel up and reads the load.
func NewScenario(toml string) (*Scenario, error) {
	return Source{TOML: toml}.Scenario()
}

// Scenario checks a scenario, looks every kernel up and reads the load.
func (s Source) Scenario() (*Scenario, error) {
	return scenario(made(func(out *C.uint64_t, e *C.RooflutError) C.uint32_t {
		data, length := chars(s.TOML)
		model, draft, tables := s.handles()
		return C.scenario_new(data, length, model, draft, tables, out, e)
	}))
}

// Fits lists deployments of the model with the requests that each holds in memory, and returns the JSON of
// `rooflut fits --json`. wanted is an object of JSON with the keys batch and context, or empty.
func (s Source) Fits(wanted string) (string, error) { return s.ask(C.FITS, wanted, 0) }

// Plan finds the deployments with the fewest GPUs, or of different GPUs the cheapest, that meet limits under the load,
// and returns the JSON of `rooflut plan --json`. wanted is an object of JSON with the list goodput, such as
// ["ttft:500", "tpot:20@p95"], and optionally other flags of that command.
func (s Source) Plan(ctx context.Context, wanted string) (string, error) {
	return until(ctx, func(stop C.uint64_t) (string, error) { return s.ask(C.PLAN, wanted, stop) })
}

// Saturate finds the highest rate that the servers serve within limits, and returns the JSON of
// `rooflut saturate --json`. wanted is an object of JSON with flags of that command, or empty.
func (s Source) Saturate(ctx context.Context, wanted string) (string, error) {
	return until(ctx, func(stop C.uint64_t) (string, error) { return s.ask(C.SATURATE, wanted, stop) })
}

// Sweep simulates all combinations of the lists of values in the TOML's table [sweep], and returns the CSV of
// `rooflut sweep`: a row for each combination, with an error if it cannot run.
func (s Source) Sweep(ctx context.Context) (string, error) {
	return until(ctx, func(stop C.uint64_t) (string, error) { return s.ask(C.SWEEP, "", stop) })
}

func (s Source) ask(function C.uint32_t, wanted string, stop C.uint64_t) (string, error) {
	return text(func(out *C.uint64_t, e *C.RooflutError) C.uint32_t {
		data, length := chars(s.TOML)
		wanted, wantedLength := chars(wanted)
		model, draft, tables := s.handles()
		return C.ask(function, data, length, model, draft, tables, wanted, wantedLength, stop, out, e)
	})
}

func (s Source) handles() (model, draft, tables C.uint64_t) {
	if s.Model != nil {
		model = C.uint64_t(s.Model.handle)
	}
	if s.DraftModel != nil {
		draft = C.uint64_t(s.DraftModel.handle)
	}
	if s.Tables != nil {
		tables = C.uint64_t(s.Tables.handle)
	}
	return model, draft, tables
}

// WithSeed returns the scenario with another seed.
func (s *Scenario) WithSeed(seed uint64) (*Scenario, error) {
	return scenario(made(func(out *C.uint64_t, e *C.RooflutError) C.uint32_t {
		return C.rooflut_scenario_with_seed(C.uint64_t(s.handle), C.uint64_t(seed), out, e)
	}))
}

// WithRate returns the scenario at another rate, requests (or sessions) per second.
func (s *Scenario) WithRate(rate float64) (*Scenario, error) {
	return scenario(made(func(out *C.uint64_t, e *C.RooflutError) C.uint32_t {
		return C.rooflut_scenario_with_rate(C.uint64_t(s.handle), C.double(rate), out, e)
	}))
}

// Output is what a run writes.
type Output uint32

// Outputs of a run.
const (
	OutputReport      Output = C.ROOFLUT_OUTPUT_REPORT       // The JSON of `rooflut run --json`.
	OutputRequestsCSV Output = C.ROOFLUT_OUTPUT_REQUESTS_CSV // A line for each request.
	OutputStepsCSV    Output = C.ROOFLUT_OUTPUT_STEPS_CSV    // A line for each step.
	OutputTimeline    Output = C.ROOFLUT_OUTPUT_TIMELINE     // A timeline for ui.perfetto.dev.
)

// Run simulates the scenario and returns a text.
func (s *Scenario) Run(ctx context.Context, output Output) (string, error) {
	return until(ctx, func(stop C.uint64_t) (string, error) {
		return text(func(out *C.uint64_t, e *C.RooflutError) C.uint32_t {
			return C.rooflut_scenario_run(C.uint64_t(s.handle), C.uint32_t(output), stop, out, e)
		})
	})
}

// Close frees the scenario. Servers that were made with it stay.
func (s *Scenario) Close() error { return s.handle.free() }

func scenario(made handle, err error) (*Scenario, error) {
	if err != nil {
		return nil, err
	}
	return &Scenario{made}, nil
}

// Compare compares two reports and returns JSON.
func Compare(a, b string) (string, error) {
	return text(func(out *C.uint64_t, e *C.RooflutError) C.uint32_t {
		aData, aLength := chars(a)
		bData, bLength := chars(b)
		return C.rooflut_compare(aData, aLength, bData, bLength, out, e)
	})
}
