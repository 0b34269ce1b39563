package rooflut_test

import (
	"fmt"
	"log"

	"github.com/rooflut/rooflut/bindings/go"
)

// The README's example.
func Example() {
	scenario, err := rooflut.NewScenario("model = 'llama-3.1-8b'\ngpu = 'h100'\ntp = 2")
	if err != nil {
		log.Fatal(err)
	}
	defer scenario.Close()
	var steps rooflut.Steps
	for requests := range uint64(256) {
		group := rooflut.DecodeGroup{Requests: uint32(requests + 1), KVTokens: 1000 * (requests + 1)}
		steps.Add(rooflut.Batch{Decode: []rooflut.DecodeGroup{group}})
	}
	times := make([]rooflut.Time, steps.Len())
	if err := scenario.StepTimes(&steps, times); err != nil { // One call into the library.
		log.Fatal(err)
	}
	fmt.Println(times[63].Nanoseconds, "ns")
}
