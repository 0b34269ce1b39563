// The program of bindings/agreement in Go.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"math"
	"os"
	"strings"

	"github.com/rooflut/rooflut/bindings/go"
)

const (
	steps    = 10_000
	requests = 100
	seeds    = 20
)

var out = bufio.NewWriter(os.Stdout)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("expected the path of scenarios.txt")
	}
	text := must(os.ReadFile(os.Args[1]))
	var scenarios []*rooflut.Scenario
	for toml := range strings.SplitSeq(string(text), "---\n") {
		scenarios = append(scenarios, must(rooflut.NewScenario(toml)))
	}
	count := uint64(len(scenarios))
	for index := range uint64(steps) {
		step(index, scenarios[index%count])
	}
	for index, scenario := range scenarios {
		stepsAtOnce(uint64(index), count, scenario)
	}
	for _, scenario := range scenarios {
		drive(scenario)
	}
	for index, scenario := range scenarios {
		for seed := range uint64(seeds) {
			seeded := must(scenario.WithSeed(seed))
			fmt.Fprintf(out, "run %d %d\n%s", index, seed, must(seeded.Run(context.Background(), rooflut.OutputReport)))
			check(seeded.Close())
		}
		check(scenario.Close())
	}
	check(out.Flush())
}

// random is splitmix64.
type random uint64

func (r *random) draw(modulus uint64) uint64 {
	*r += 0x9e3779b97f4a7c15
	bits := uint64(*r)
	bits = (bits ^ bits>>30) * 0xbf58476d1ce4e5b9
	bits = (bits ^ bits>>27) * 0x94d049bb133111eb
	return (bits ^ bits>>31) % modulus
}

func batchOf(index uint64) rooflut.Batch {
	r := random(index)
	var batch rooflut.Batch
	for range r.draw(4) {
		tokens := 1 + uint32(r.draw(2048))
		length := tokens + uint32(r.draw(8192))
		chunk := rooflut.Chunk{NewTokens: tokens, KVLen: length, IsLast: r.draw(2) == 1}
		batch.Prefill = append(batch.Prefill, chunk)
	}
	for range r.draw(4) {
		requests := 1 + r.draw(64)
		drafted := r.draw(3)
		length := 1 + r.draw(8192) + drafted
		group := rooflut.DecodeGroup{Requests: uint32(requests), KVTokens: requests * length, Drafted: uint32(drafted)}
		batch.Decode = append(batch.Decode, group)
	}
	return batch
}

func step(index uint64, scenario *rooflut.Scenario) {
	batch := batchOf(index)
	time := must(scenario.StepTime(batch))
	fmt.Fprintf(out, "step %d %016x %d\n", index, math.Float64bits(time.Seconds), time.Nanoseconds)
	if index%10 == 0 {
		for _, part := range must(scenario.StepParts(batch)).Parts {
			outside := 0
			if part.IsOutside {
				outside = 1
			}
			bits := math.Float64bits(part.Seconds)
			fmt.Fprintf(out, "part %d %016x %d %d %d\n", part.Part, bits, part.Binding, part.Class, outside)
		}
	}
}

// stepsAtOnce checks that all steps of a scenario in one call have the times that they have alone.
func stepsAtOnce(first, stride uint64, scenario *rooflut.Scenario) {
	var many rooflut.Steps
	for index := first; index < steps; index += stride {
		many.Add(batchOf(index))
	}
	times := make([]rooflut.Time, many.Len())
	check(scenario.StepTimes(&many, times))
	for i, time := range times {
		index := first + uint64(i)*stride
		if alone := must(scenario.StepTime(batchOf(index))); alone != time {
			log.Fatalf("step %d: expected the same time alone and among others, found %v and %v", index, alone, time)
		}
	}
}

func drive(scenario *rooflut.Scenario) {
	server := must(scenario.NewServer())
	for index := range uint64(requests) {
		r := random(index)
		arrival := r.draw(2_000_000_000)
		prompt := 1 + uint32(r.draw(1000))
		output := 1 + uint32(r.draw(100))
		must(server.Push(rooflut.Request{ArrivalNS: arrival, PromptTokens: prompt, OutputTokens: output}))
	}
	state := must(server.State())
	for !state.IsIdle {
		state = must(server.Advance(state.NextEventNS))
		for _, event := range must(server.Events(nil)) {
			fmt.Fprintf(out, "event %d %s %s %d\n", event.Request, event.Kind, event.Outcome, event.AtNS)
			if event.Outcome == rooflut.OutcomeNone && event.Request%5 == 0 {
				cancelled := 0
				if server.Cancel(event.Request) == nil {
					cancelled = 1
				}
				fmt.Fprintf(out, "cancel %d\n", cancelled)
			}
		}
	}
	totals := must(server.Totals())
	fmt.Fprintf(out, "totals %d %d %d\n", totals.Steps, totals.BusyNS, totals.OutputTokens)
	check(server.Close())
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
