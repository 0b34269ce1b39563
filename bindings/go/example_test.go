package rooflut_test

import (
	"fmt"
	"log"

	"github.com/rooflut/rooflut/bindings/go"
)

// A server is driven from event to event.
func ExampleServer() {
	scenario, err := rooflut.NewScenario("model = 'llama-3.1-8b'\ngpu = 'h100'")
	if err != nil {
		log.Fatal(err)
	}
	defer scenario.Close()
	server, err := scenario.NewServer()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	for i := range uint64(2) {
		request := rooflut.Request{ArrivalNS: i * 1e9, PromptTokens: 512, OutputTokens: 16}
		if _, err := server.Push(request); err != nil {
			log.Fatal(err)
		}
	}
	state, err := server.State()
	for err == nil && !state.IsIdle {
		if state, err = server.Advance(state.NextEventNS); err != nil {
			break
		}
		var events []rooflut.Event
		events, err = server.Events(nil)
		for _, event := range events {
			if event.Kind == rooflut.EventFinished {
				fmt.Println("request", event.Request, event.Outcome, "in second", event.AtNS/1e9)
			}
		}
	}
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// request 0 completed in second 0
	// request 1 completed in second 1
}
