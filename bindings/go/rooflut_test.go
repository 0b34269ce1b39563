package rooflut_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rooflut/rooflut/bindings/go"
)

func open(t testing.TB, toml string) *rooflut.Scenario {
	t.Helper()
	scenario, err := rooflut.NewScenario(toml)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := scenario.Close(); err != nil {
			t.Error(err)
		}
	})
	return scenario
}

// refused checks kind and message of an error.
func refused(t *testing.T, err error, code rooflut.Code, message string) {
	t.Helper()
	var found *rooflut.Error
	if !errors.As(err, &found) || found.Code != code || !strings.Contains(found.Message, message) {
		t.Errorf("expected code %d and %q, found %v", code, message, err)
	}
}

func batch(requests uint32) rooflut.Batch {
	return rooflut.Batch{
		Prefill: []rooflut.Chunk{{NewTokens: 512, KVLen: 1024, IsLast: true}},
		Decode:  []rooflut.DecodeGroup{{Requests: requests, KVTokens: 1000 * uint64(requests)}},
	}
}

func TestPartsAddUpAndTheIntervalContainsTheTime(t *testing.T) {
	scenario := open(t, "tp = 2")
	time, err := scenario.StepTime(batch(64))
	if err != nil {
		t.Fatal(err)
	}
	parts, err := scenario.StepParts(batch(64))
	if err != nil || parts.Total != time {
		t.Fatal(parts.Total, time, err)
	}
	var sum float64
	for _, part := range parts.Parts {
		sum += part.Seconds
	}
	if first := parts.Parts[0]; fmt.Sprint(first.Part, first.Binding) != "qkv compute" {
		t.Error(first)
	}
	if math.Abs(sum/time.Seconds-1) > 1e-9 || parts.BoundSeconds > time.Seconds {
		t.Error(sum, parts)
	}
	low, high, err := scenario.StepInterval(batch(64), 0.8)
	if err != nil || !(low < time.Seconds && time.Seconds < high) {
		t.Error(low, time, high, err)
	}
}

func TestManyStepsHaveTheTimesOfEach(t *testing.T) {
	scenario := open(t, "")
	var steps rooflut.Steps
	for range 2 {
		steps.Reset()
		for requests := range uint32(100) {
			steps.Add(batch(requests + 1))
		}
		times := make([]rooflut.Time, steps.Len())
		if err := scenario.StepTimes(&steps, times); err != nil {
			t.Fatal(err)
		}
		for i, time := range times {
			if alone, err := scenario.StepTime(batch(uint32(i + 1))); err != nil || alone != time {
				t.Fatal(i, alone, time, err)
			}
		}
	}
	refused(t, scenario.StepTimes(&steps, nil), rooflut.CodeLength, "times_length: expected 100")
	steps.Add(rooflut.Batch{Decode: []rooflut.DecodeGroup{{Requests: 2, KVTokens: 1}}})
	err := scenario.StepTimes(&steps, make([]rooflut.Time, 101))
	refused(t, err, rooflut.CodeValue, "step 100: decode[0].kv_tokens: expected at least 2")
}

func TestStepTimesDoNotAllocate(t *testing.T) {
	scenario := open(t, "")
	batch := batch(8)
	if allocations := testing.AllocsPerRun(100, func() { _, _ = scenario.StepTime(batch) }); allocations != 0 {
		t.Error(allocations)
	}
}

func TestADecodeServerHasThePromptWhenTheRequestArrives(t *testing.T) {
	scenario := open(t, "")
	_, err := scenario.NewServerStage(3)
	refused(t, err, rooflut.CodeValue, "role: expected 0 to 2")
	server, err := scenario.NewServerStage(rooflut.RoleDecode)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.Push(rooflut.Request{ArrivalNS: 7, PromptTokens: 100, OutputTokens: 10}); err != nil {
		t.Fatal(err)
	}
	if record, _, ok, err := server.Step(); err != nil || !ok || record.StartNS != 7 || record.PrefillTokens != 1 {
		t.Error(record, ok, err)
	}
}

func TestAServerServesEveryRequest(t *testing.T) {
	server, err := open(t, "[server]\nmax_num_seqs = 4").NewServer()
	if err != nil {
		t.Fatal(err)
	}
	contents := []rooflut.Content{nil, rooflut.Texts{Prefix: 1, PrefixTokens: 64, Own: 9},
		rooflut.TraceBlocks{IDs: []uint64{1, 2, 3}, BlockTokens: 16}}
	for i := range uint64(50) {
		request := rooflut.Request{ArrivalNS: i * 1e6, PromptTokens: 100, OutputTokens: 10, Content: contents[i%3]}
		if number, err := server.Push(request); err != nil || number != i {
			t.Fatal(number, err)
		}
	}
	record, tokens, ok, err := server.Step()
	if err != nil || !ok || record.PrefillTokens != 100 || len(tokens) != 1 || tokens[0].Tokens != 1 {
		t.Fatal(record, tokens, ok, err)
	}
	copied, err := server.Copy()
	if err != nil {
		t.Fatal(err)
	}
	if state, err := copied.Advance(1e12); err != nil || !state.IsIdle {
		t.Fatal(state, err)
	}
	if totals, err := copied.Totals(); err != nil || totals.Completed != 50 {
		t.Error(totals, err)
	}
	var events []rooflut.Event
	state, err := server.State()
	for err == nil && !state.IsIdle {
		if state, err = server.Advance(state.NextEventNS); err == nil {
			events, err = server.Events(events)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	completed := 0
	for _, event := range events {
		if event.Outcome == rooflut.OutcomeCompleted {
			completed++
		}
	}
	totals, err := server.Totals()
	if err != nil || completed != 50 || totals.Completed != 50 || totals.OutputTokens != 500 {
		t.Error(completed, totals, err)
	}
	_, err = server.Advance(0)
	refused(t, err, rooflut.CodeValue, "to_ns: expected at least")
	_, err = server.Push(rooflut.Request{ArrivalNS: math.MaxUint64, PromptTokens: 1, OutputTokens: 1})
	refused(t, err, rooflut.CodeRefused, "request: it arrives at 18446744073709551615 ns")
	later, err := server.Push(rooflut.Request{ArrivalNS: 1e18, PromptTokens: 1, OutputTokens: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Cancel(later); err != nil {
		t.Error(err)
	}
	events, err = server.Events(nil)
	if err != nil || len(events) != 1 || events[0].Request != later || events[0].Kind.String() != "finished" ||
		events[0].Outcome.String() != "cancelled" {
		t.Error(events, err)
	}
	refused(t, server.Cancel(later), rooflut.CodeValue, "request 50: expected one that was pushed and has not finished")
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	_, err = server.State()
	refused(t, err, rooflut.CodeHandle, "not in use")
	refused(t, server.Close(), rooflut.CodeHandle, "not in use")
}

func TestRunsReportTheirLoad(t *testing.T) {
	scenario := open(t, "[workload]\nrequests = 50\nrate = 5")
	var reports []string
	for seed := range uint64(2) {
		seeded, err := scenario.WithSeed(seed)
		if err != nil {
			t.Fatal(err)
		}
		text, err := seeded.Run(t.Context(), rooflut.OutputReport)
		if err != nil {
			t.Fatal(err)
		}
		var report struct{ Completed int }
		if err := json.Unmarshal([]byte(text), &report); err != nil || report.Completed != 50 {
			t.Fatal(report, err)
		}
		reports = append(reports, text)
		if err := seeded.Close(); err != nil {
			t.Error(err)
		}
	}
	if comparison, err := rooflut.Compare(reports[0], reports[1]); err != nil || !strings.Contains(comparison, "figures") {
		t.Error(comparison, err)
	}
	csv, err := scenario.Run(t.Context(), rooflut.OutputRequestsCSV)
	if err != nil || strings.Count(csv, "\n") != 51 {
		t.Error(csv, err)
	}
	for _, rate := range []float64{math.NaN(), math.Inf(1), -1} {
		_, err := scenario.WithRate(rate)
		refused(t, err, rooflut.CodeRefused, "rate")
	}
	_, err = scenario.Run(t.Context(), 99)
	refused(t, err, rooflut.CodeValue, "output: ")
}

func TestAPlanNamesTheCheapestDeployment(t *testing.T) {
	source := rooflut.Source{TOML: "[workload]\nrate = 2\nrequests = 500\nseeds = 1"}
	plan, err := source.Plan(t.Context(), `{"goodput": ["ttft:1000"], "tp": [1, 2], "count": 1}`)
	if err != nil || !strings.Contains(plan, `"gpus": 1`) {
		t.Error(plan, err)
	}
	_, err = source.Plan(t.Context(), `{"goodput": ["ttft"]}`)
	refused(t, err, rooflut.CodeRefused, "wanted: goodput: ")
}

func TestSearchesAnswerWithTheirJSON(t *testing.T) {
	fits, err := rooflut.Source{TOML: "model = 'llama-3.1-70b'\ngpu = 'h100'"}.Fits(`{"batch": 8, "context": 16384}`)
	if err != nil || strings.Count(fits, `"missing": null`) != 3 {
		t.Error(fits, err)
	}
	source := rooflut.Source{TOML: "[workload]\nrequests = 200\nseeds = 1"}
	saturation, err := source.Saturate(t.Context(), `{"goodput": ["tpot:12@p90"]}`)
	var found struct {
		Within struct{ Rate float64 } `json:"within_limits"`
	}
	if err == nil {
		err = json.Unmarshal([]byte(saturation), &found)
	}
	if err != nil || found.Within.Rate < 1 {
		t.Error(saturation, err)
	}
	_, err = source.Saturate(t.Context(), `{"tolerance": "x"}`)
	refused(t, err, rooflut.CodeRefused, "wanted: ")
}

func TestASweepHasARowForEachCombination(t *testing.T) {
	csv, err := rooflut.Source{TOML: "[workload]\nrequests = 20\n[sweep]\ntp = [1, 3]\nrate = '1..5:2'"}.Sweep(t.Context())
	if err != nil || strings.Count(csv, "\n") != 7 || !strings.HasPrefix(csv, "index,grid,schema_version,tp,rate,") {
		t.Error(csv, err)
	}
	tables, err := rooflut.FindTables("h200")
	if err != nil {
		t.Fatal(err)
	}
	_, err = rooflut.Source{TOML: "[sweep]\ngpu = ['h100', 'h200']", Tables: tables}.Sweep(t.Context())
	refused(t, err, rooflut.CodeRefused, "gpu: expected either an object or a list in [sweep], found both")
	if err := tables.Close(); err != nil {
		t.Error(err)
	}
}

func TestRunsAndSearchesEndWithTheirContext(t *testing.T) {
	ended, end := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	end(cause)
	source := rooflut.Source{TOML: "[sweep]\ntp = [1, 2]"}
	if _, err := source.Sweep(ended); err != cause {
		t.Error(err)
	}
	// Minutes of work.
	load := "[workload]\nrate = 20\nrequests = 10_000_000"
	searched := rooflut.Source{TOML: "[workload]\nrate = 20\nrequests = 300_000"}
	scenario := open(t, load)
	for name, call := range map[string]func(context.Context) (string, error){
		"run": func(ctx context.Context) (string, error) { return scenario.Run(ctx, rooflut.OutputReport) },
		"sweep": func(ctx context.Context) (string, error) {
			return rooflut.Source{TOML: load + "\n[sweep]\ntp = [1, 2]"}.Sweep(ctx)
		},
		"plan": func(ctx context.Context) (string, error) {
			return searched.Plan(ctx, `{"goodput": ["ttft:900"]}`)
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		start := time.Now()
		if _, err := call(ctx); err != context.DeadlineExceeded || time.Since(start) > 20*time.Second {
			t.Error(name, err, time.Since(start))
		}
		cancel()
	}
}

func TestModelsAndTablesAreFoundAndDescribed(t *testing.T) {
	files := rooflut.ConfigFiles{Name: "mine", AssumeLlama: true, Config: `{"model_type": "new", "hidden_size": 4096,
		"num_hidden_layers": 32, "num_attention_heads": 32, "intermediate_size": 11008, "vocab_size": 32000,
		"max_position_embeddings": 4096}`}
	model, err := rooflut.ReadModel(files)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := rooflut.FindTables("H200")
	if err != nil {
		t.Fatal(err)
	}
	scenario, err := rooflut.Source{Model: model, Tables: tables}.Scenario()
	if err != nil {
		t.Fatal(err)
	}
	lookup, err := tables.Lookup(`{"gemm": {"dtype": "bf16", "k": 4096, "n": 6144}}`)
	if err != nil {
		t.Fatal(err)
	}
	description, err := model.Describe()
	if err != nil || !strings.Contains(description, `"mine"`) {
		t.Error(description, err)
	}
	if description, err = tables.Describe(); err != nil || !strings.Contains(description, `"h200"`) {
		t.Error(description, err)
	}
	if names, err := rooflut.ModelNames(); err != nil || !slices.Contains(names, "llama-3.1-8b") {
		t.Error(names, err)
	}
	if names, err := rooflut.TablesNames(); err != nil || !slices.Contains(names, "h200") {
		t.Error(names, err)
	}
	// Objects do not depend on those that they were made with.
	for _, object := range []interface{ Close() error }{model, tables} {
		if err := object.Close(); err != nil {
			t.Error(err)
		}
	}
	if time, err := scenario.StepTime(batch(1)); err != nil || time.Nanoseconds == 0 {
		t.Error(time, err)
	}
	estimate, err := lookup.At(0, 100)
	if err != nil || estimate.Seconds <= 0 || estimate.Class > rooflut.ClassTransferred {
		t.Error(estimate, err)
	}
	for _, object := range []interface{ Close() error }{scenario, lookup} {
		if err := object.Close(); err != nil {
			t.Error(err)
		}
	}
	_, err = rooflut.Source{Model: model}.Scenario()
	refused(t, err, rooflut.CodeHandle, "not in use")
	_, err = rooflut.FindModel("llama-3.1-9b")
	refused(t, err, rooflut.CodeRefused, "nearest: llama-3.1-8b")
	_, err = rooflut.FindModel("\xff")
	refused(t, err, rooflut.CodeUTF8, "name: ")
}

func TestGoroutinesShareAScenarioAndExcludeEachOtherFromAServer(t *testing.T) {
	scenario := open(t, "")
	server, err := scenario.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	want, err := scenario.StepTime(batch(16))
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 500 {
				if time, err := scenario.StepTime(batch(16)); err != nil || time != want {
					t.Error(time, err)
				}
				var found *rooflut.Error
				if _, err := server.State(); err != nil && (!errors.As(err, &found) || found.Code != rooflut.CodeBusy) {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if err := server.Close(); err != nil {
		t.Error(err)
	}
}

// The benchmarks of bindings/c/benches/border.rs, across one border more.

func BenchmarkGemm(b *testing.B) {
	tables, err := rooflut.FindTables("h100")
	if err != nil {
		b.Fatal(err)
	}
	defer tables.Close()
	lookup, err := tables.Lookup(`{"gemm": {"dtype": "bf16", "k": 4096, "n": 6144}}`)
	if err != nil {
		b.Fatal(err)
	}
	defer lookup.Close()
	for b.Loop() {
		if _, err := lookup.At(0, 100); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStepOf64RequestsIn1Group(b *testing.B)   { benchmarkStep(b, 1) }
func BenchmarkStepOf64RequestsIn64Groups(b *testing.B) { benchmarkStep(b, 64) }

func benchmarkStep(b *testing.B, groups int) {
	scenario := open(b, "")
	requests := uint32(64 / groups)
	group := rooflut.DecodeGroup{Requests: requests, KVTokens: 1000 * uint64(requests)}
	batch := rooflut.Batch{Decode: slices.Repeat([]rooflut.DecodeGroup{group}, groups)}
	for b.Loop() {
		if _, err := scenario.StepTime(batch); err != nil {
			b.Fatal(err)
		}
	}
}

func Benchmark1000StepTimesInOneCall(b *testing.B) {
	scenario := open(b, "")
	var steps rooflut.Steps
	for range 1000 {
		steps.Add(rooflut.Batch{Decode: []rooflut.DecodeGroup{{Requests: 64, KVTokens: 64000}}})
	}
	times := make([]rooflut.Time, steps.Len())
	for b.Loop() {
		if err := scenario.StepTimes(&steps, times); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVersion(b *testing.B) { // A call into C that does nothing.
	for b.Loop() {
		rooflut.Version()
	}
}
