package rooflut

/*
#include <rooflut.h>
#cgo noescape step_times
#cgo nocallback step_times

static uint32_t step_times(uint64_t scenario, size_t length, const uint64_t *prefill_offsets, const uint32_t *new_tokens,
                           const uint32_t *kv_len, const uint8_t *is_last, size_t prefill_length,
                           const uint64_t *decode_offsets, const uint32_t *requests, const uint64_t *kv_tokens,
                           const uint32_t *drafted, const uint64_t *outside, size_t decode_length,
                           RooflutDuration *times, size_t times_length, RooflutError *error) {
  RooflutSteps steps = {
      .length = length, .prefill_offsets = prefill_offsets, .prefill_new_tokens = new_tokens, .prefill_kv_len = kv_len,
      .prefill_is_last = is_last, .prefill_length = prefill_length, .decode_offsets = decode_offsets,
      .decode_requests = requests, .decode_kv_tokens = kv_tokens, .decode_drafted = drafted,
      .decode_outside_tokens = outside, .decode_length = decode_length,
  };
  return rooflut_step_times(scenario, &steps, times, times_length, error);
}
*/
import "C"

import "unsafe"

// Steps are batches of many steps for one call to time. The zero value has no steps.
type Steps struct {
	prefillOffsets []uint64
	newTokens      []uint32
	kvLen          []uint32
	isLast         []bool
	decodeOffsets  []uint64
	requests       []uint32
	kvTokens       []uint64
	drafted        []uint32
	outside        []uint64
}

// Add adds a step; its slices may be used again.
func (s *Steps) Add(batch Batch) {
	if len(s.prefillOffsets) == 0 {
		s.prefillOffsets = append(s.prefillOffsets, 0)
		s.decodeOffsets = append(s.decodeOffsets, 0)
	}
	for _, chunk := range batch.Prefill {
		s.newTokens = append(s.newTokens, chunk.NewTokens)
		s.kvLen = append(s.kvLen, chunk.KVLen)
		s.isLast = append(s.isLast, chunk.IsLast)
	}
	for _, group := range batch.Decode {
		s.requests = append(s.requests, group.Requests)
		s.kvTokens = append(s.kvTokens, group.KVTokens)
		s.drafted = append(s.drafted, group.Drafted)
		s.outside = append(s.outside, group.OutsideTokens)
	}
	s.prefillOffsets = append(s.prefillOffsets, uint64(len(s.newTokens)))
	s.decodeOffsets = append(s.decodeOffsets, uint64(len(s.requests)))
}

// Len returns the number of steps.
func (s *Steps) Len() int { return max(len(s.prefillOffsets)-1, 0) }

// Reset removes all steps and keeps the memory.
func (s *Steps) Reset() {
	*s = Steps{
		s.prefillOffsets[:0], s.newTokens[:0], s.kvLen[:0], s.isLast[:0],
		s.decodeOffsets[:0], s.requests[:0], s.kvTokens[:0], s.drafted[:0], s.outside[:0],
	}
}

// StepTimes predicts the times of many steps in one call and writes them to times, with one entry per step.
func (s *Scenario) StepTimes(steps *Steps, times []Time) error {
	if steps.Len() == 0 && len(times) == 0 {
		return nil
	}
	var e C.RooflutError
	code := C.step_times(C.uint64_t(s.handle), C.size_t(steps.Len()),
		first[C.uint64_t](steps.prefillOffsets), first[C.uint32_t](steps.newTokens), first[C.uint32_t](steps.kvLen),
		first[C.uint8_t](steps.isLast), C.size_t(len(steps.newTokens)),
		first[C.uint64_t](steps.decodeOffsets), first[C.uint32_t](steps.requests), first[C.uint64_t](steps.kvTokens),
		first[C.uint32_t](steps.drafted), first[C.uint64_t](steps.outside), C.size_t(len(steps.requests)),
		first[C.RooflutDuration](times), C.size_t(len(times)), &e)
	return failed(code, &e)
}

// first returns the first entry of a slice as C has it: entries of the same size.
func first[T, E any](entries []E) *T {
	return (*T)(unsafe.Pointer(unsafe.SliceData(entries)))
}
