// A discrete-event simulator that asks rooflut for step times only: two replicas behind a queue, each with a batch of at
// most eight requests, which it fills whenever a step ends.
package main

import (
	"container/heap"
	"fmt"
	"log"
	"time"

	"github.com/rooflut/rooflut/bindings/go"
)

const (
	replicas  = 2
	maxBatch  = 8
	arrivals  = 200
	gapNS     = 60_000_000
	prompt    = 512
	outTokens = 64
)

// event is the arrival of a request, or the end of a step of a replica.
type event struct {
	atNS    uint64
	replica int // -1 for an arrival.
}

// events are a heap, the earliest first; arrivals before ends of steps.
type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].atNS < e[j].atNS || e[i].atNS == e[j].atNS && e[i].replica < e[j].replica
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// request is a running request.
type request struct {
	arrivalNS uint64
	generated uint32
}

func main() {
	scenario, err := rooflut.NewScenario("model = 'qwen3-14b'\ngpu = 'h100'")
	if err != nil {
		log.Fatal(err)
	}
	defer scenario.Close()

	var pending events
	for i := range uint64(arrivals) {
		heap.Push(&pending, event{i * gapNS, -1})
	}
	var queue []uint64
	var running [replicas][]request
	var isBusy [replicas]bool
	var steps, served, latencyNS, nowNS uint64
	for pending.Len() > 0 {
		now := heap.Pop(&pending).(event)
		nowNS = now.atNS
		if now.replica < 0 {
			queue = append(queue, now.atNS)
		} else {
			isBusy[now.replica] = false
			left := running[now.replica][:0]
			for _, r := range running[now.replica] {
				if r.generated++; r.generated < outTokens {
					left = append(left, r)
				} else {
					served++
					latencyNS += nowNS - r.arrivalNS
				}
			}
			running[now.replica] = left
		}
		for replica := range replicas {
			if isBusy[replica] {
				continue
			}
			batch := rooflut.Batch{}
			for _, r := range running[replica] {
				group := rooflut.DecodeGroup{Requests: 1, KVTokens: uint64(prompt + r.generated)}
				batch.Decode = append(batch.Decode, group)
			}
			for len(queue) > 0 && len(running[replica]) < maxBatch {
				running[replica] = append(running[replica], request{arrivalNS: queue[0]})
				queue = queue[1:]
				chunk := rooflut.Chunk{NewTokens: prompt, KVLen: prompt, IsLast: true}
				batch.Prefill = append(batch.Prefill, chunk)
			}
			if len(running[replica]) == 0 {
				continue
			}
			step, err := scenario.StepTime(batch)
			if err != nil {
				log.Fatal(err)
			}
			heap.Push(&pending, event{nowNS + step.Nanoseconds, replica})
			isBusy[replica] = true
			steps++
		}
	}
	fmt.Printf("%d requests in %v: %d steps, %v from arrival to last token\n", served, time.Duration(nowNS), steps,
		time.Duration(latencyNS/served).Round(time.Microsecond))
}
