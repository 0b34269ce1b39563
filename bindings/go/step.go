package rooflut

/*
#include <rooflut.h>
#cgo noescape step_time
#cgo nocallback step_time
#cgo noescape step_parts
#cgo nocallback step_parts
#cgo noescape step_interval
#cgo nocallback step_interval

static uint32_t step_time(uint64_t scenario, const RooflutChunk *prefill, size_t prefill_length,
                          const RooflutDecodeGroup *decode, size_t decode_length, RooflutDuration *time,
                          RooflutError *error) {
  RooflutBatch batch = {prefill, prefill_length, decode, decode_length};
  return rooflut_step_time(scenario, &batch, time, error);
}

static uint32_t step_parts(uint64_t scenario, const RooflutChunk *prefill, size_t prefill_length,
                           const RooflutDecodeGroup *decode, size_t decode_length, RooflutStepTime *time,
                           RooflutError *error) {
  RooflutBatch batch = {prefill, prefill_length, decode, decode_length};
  return rooflut_step_parts(scenario, &batch, time, error);
}

static uint32_t step_interval(uint64_t scenario, const RooflutChunk *prefill, size_t prefill_length,
                              const RooflutDecodeGroup *decode, size_t decode_length, double coverage,
                              RooflutInterval *interval, RooflutError *error) {
  RooflutBatch batch = {prefill, prefill_length, decode, decode_length};
  return rooflut_step_interval(scenario, &batch, coverage, interval, error);
}
*/
import "C"

import "unsafe"

// Chunk is consecutive prompt tokens of one request. Its memory layout equals RooflutChunk.
type Chunk struct {
	NewTokens uint32 // Tokens computed in this step, at least 1.
	KVLen     uint32 // Tokens in the KV cache after this step, the new ones included.
	IsLast    bool   // Whether the prompt ends with this chunk, so that it yields a token.
}

// DecodeGroup is decoding requests. Its memory layout equals RooflutDecodeGroup.
type DecodeGroup struct {
	KVTokens      uint64 // Sum of the KV lengths of the requests, all new tokens included.
	OutsideTokens uint64 // KV tokens outside the window of layers with one; 0 for as few as the lengths allow.
	Requests      uint32 // At least 1.
	Drafted       uint32 // Drafted tokens of each request.
}

// Batch is the tokens of one step.
type Batch struct {
	Prefill []Chunk
	Decode  []DecodeGroup
}

// Time is a predicted time. Its memory layout equals RooflutDuration.
type Time struct {
	Seconds     float64
	Nanoseconds uint64 // Whole nanoseconds, halves rounded up.
}

// Class is the kind of data that an answer was computed from, from the most to the least certain.
type Class uint32

// Classes.
const (
	ClassMeasured     Class = C.ROOFLUT_CLASS_MEASURED
	ClassInterpolated Class = C.ROOFLUT_CLASS_INTERPOLATED
	ClassSmoothed     Class = C.ROOFLUT_CLASS_SMOOTHED
	ClassTransferred  Class = C.ROOFLUT_CLASS_TRANSFERRED
	ClassBound        Class = C.ROOFLUT_CLASS_BOUND
	ClassFitted       Class = C.ROOFLUT_CLASS_FITTED // Constants that were fitted to servers; no table.
)

// Part is a part of a step.
type Part uint32

// Parts.
const (
	PartQKV              Part = C.ROOFLUT_PART_QKV
	PartPrefillAttention Part = C.ROOFLUT_PART_PREFILL_ATTENTION
	PartDecodeAttention  Part = C.ROOFLUT_PART_DECODE_ATTENTION
	PartOProj            Part = C.ROOFLUT_PART_O_PROJ
	PartGateUp           Part = C.ROOFLUT_PART_GATE_UP
	PartDown             Part = C.ROOFLUT_PART_DOWN
	PartRouter           Part = C.ROOFLUT_PART_ROUTER
	PartMoE              Part = C.ROOFLUT_PART_MOE
	PartExchange         Part = C.ROOFLUT_PART_EXCHANGE
	PartAllReduce        Part = C.ROOFLUT_PART_ALL_REDUCE
	PartTransfer         Part = C.ROOFLUT_PART_TRANSFER
	PartSmallKernels     Part = C.ROOFLUT_PART_SMALL_KERNELS
	PartLMHead           Part = C.ROOFLUT_PART_LM_HEAD
	PartSampling         Part = C.ROOFLUT_PART_SAMPLING
	PartHost             Part = C.ROOFLUT_PART_HOST
)

// Binding is the resource that limits the speed of a part.
type Binding uint32

// Bindings.
const (
	BindingCompute Binding = C.ROOFLUT_BINDING_COMPUTE
	BindingMemory  Binding = C.ROOFLUT_BINDING_MEMORY
	BindingLatency Binding = C.ROOFLUT_BINDING_LATENCY
	BindingLink    Binding = C.ROOFLUT_BINDING_LINK
)

// PartTime is the time of one part of a step, over all layers.
type PartTime struct {
	Seconds     float64
	FittedShare float64 // Share of the time from constants fitted to servers, 0 to 1.
	Part        Part
	Binding     Binding
	Class       Class
	IsOutside   bool // Whether the query lies outside of the measured axes.
}

// StepTime is the time of a step by part.
type StepTime struct {
	Total        Time
	BoundSeconds float64 // Time that physics demands: FLOPs at the peak, bytes at the bandwidth.
	Parts        []PartTime
}

// StepTime predicts the time of a step of one server of the scenario. It does not allocate.
func (s *Scenario) StepTime(batch Batch) (Time, error) {
	var time C.RooflutDuration
	var e C.RooflutError
	prefill, prefillLength, decode, decodeLength := batch.arrays()
	code := C.step_time(C.uint64_t(s.handle), prefill, prefillLength, decode, decodeLength, &time, &e)
	return Time{float64(time.seconds), uint64(time.nanoseconds)}, failed(code, &e)
}

// StepParts predicts the time of a step by part.
func (s *Scenario) StepParts(batch Batch) (StepTime, error) {
	var time C.RooflutStepTime
	var e C.RooflutError
	prefill, prefillLength, decode, decodeLength := batch.arrays()
	code := C.step_parts(C.uint64_t(s.handle), prefill, prefillLength, decode, decodeLength, &time, &e)
	if err := failed(code, &e); err != nil {
		return StepTime{}, err
	}
	parts := make([]PartTime, time.parts_length)
	for i := range parts {
		part := time.parts[i]
		parts[i] = PartTime{
			Seconds:     float64(part.seconds),
			FittedShare: float64(part.fitted_share),
			Part:        Part(part.part),
			Binding:     Binding(part.binding),
			Class:       Class(part.class_),
			IsOutside:   part.is_outside != 0,
		}
	}
	total := Time{float64(time.total.seconds), uint64(time.total.nanoseconds)}
	return StepTime{Total: total, BoundSeconds: float64(time.bound_seconds), Parts: parts}, nil
}

// StepInterval predicts the range in which coverage of the measurements of such steps are expected, seconds.
func (s *Scenario) StepInterval(batch Batch, coverage float64) (low, high float64, err error) {
	var interval C.RooflutInterval
	var e C.RooflutError
	prefill, prefillLength, decode, decodeLength := batch.arrays()
	code := C.step_interval(C.uint64_t(s.handle), prefill, prefillLength, decode, decodeLength, C.double(coverage),
		&interval, &e)
	if err := failed(code, &e); err != nil {
		return 0, 0, err
	}
	return float64(interval.low_seconds), float64(interval.high_seconds), nil
}

// The memory layout of an entry equals the layout in C, so slices are passed as they are.
var (
	_ [unsafe.Sizeof(C.RooflutChunk{})]byte       = [unsafe.Sizeof(Chunk{})]byte{}
	_ [unsafe.Sizeof(C.RooflutDecodeGroup{})]byte = [unsafe.Sizeof(DecodeGroup{})]byte{}
	_ [unsafe.Sizeof(C.RooflutDuration{})]byte    = [unsafe.Sizeof(Time{})]byte{}
)

func (b Batch) arrays() (*C.RooflutChunk, C.size_t, *C.RooflutDecodeGroup, C.size_t) {
	return (*C.RooflutChunk)(unsafe.Pointer(unsafe.SliceData(b.Prefill))), C.size_t(len(b.Prefill)),
		(*C.RooflutDecodeGroup)(unsafe.Pointer(unsafe.SliceData(b.Decode))), C.size_t(len(b.Decode))
}
