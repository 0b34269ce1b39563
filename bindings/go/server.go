package rooflut

/*
#include <rooflut.h>
#cgo noescape server_push
#cgo nocallback server_push
#cgo noescape rooflut_server_cancel
#cgo nocallback rooflut_server_cancel
#cgo noescape rooflut_server_advance
#cgo nocallback rooflut_server_advance
#cgo noescape rooflut_server_state
#cgo nocallback rooflut_server_state
#cgo noescape rooflut_server_events
#cgo nocallback rooflut_server_events
#cgo noescape rooflut_server_step
#cgo nocallback rooflut_server_step
#cgo noescape rooflut_server_step_tokens
#cgo nocallback rooflut_server_step_tokens
#cgo noescape rooflut_server_totals
#cgo nocallback rooflut_server_totals

static uint32_t server_push(uint64_t server, const RooflutRequest *request, const uint64_t *ids, size_t ids_length,
                            uint64_t *number, RooflutError *error) {
  RooflutRequest whole = *request;
  whole.block_ids = ids;
  whole.block_ids_length = ids_length;
  return rooflut_server_push(server, &whole, number, error);
}
*/
import "C"

import "unsafe"

// Server is a server that the caller drives. One goroutine may use it at a time.
type Server struct{ handle handle }

// Content says which tokens of a request others share, for prefix caching: nil, Texts or TraceBlocks.
type Content interface{ isContent() }

// Texts are a shared prefix and a text of its own, the same in all turns of a session.
type Texts struct {
	Prefix       uint64
	PrefixTokens uint32
	Own          uint64
}

// TraceBlocks are blocks of the prompt with ids, as traces have them.
type TraceBlocks struct {
	IDs         []uint64
	BlockTokens uint32
}

func (Texts) isContent()       {}
func (TraceBlocks) isContent() {}

// Request is a request of a server.
type Request struct {
	ArrivalNS          uint64 // Nanoseconds from the start.
	PromptTokens       uint32
	OutputTokens       uint32
	CachedPromptTokens uint32 // Leading tokens of the prompt that count as found in the prefix cache.
	Priority           uint32 // Smaller numbers go first under the policy "priority".
	Content            Content
}

// EventKind is the kind of an Event.
type EventKind uint32

// Kinds of events.
const (
	EventFirstToken EventKind = C.ROOFLUT_EVENT_KIND_FIRST_TOKEN // The step that yields the first token has ended.
	EventFinished   EventKind = C.ROOFLUT_EVENT_KIND_FINISHED    // The last event of the request: Outcome says how it ended.
)

// Outcome says how a request ended.
type Outcome uint32

// Outcomes of requests.
const (
	OutcomeNone            Outcome = C.ROOFLUT_OUTCOME_NONE               // It has not ended.
	OutcomeCompleted       Outcome = C.ROOFLUT_OUTCOME_COMPLETED          // It was served in full.
	OutcomeTooManyKVBlocks Outcome = C.ROOFLUT_OUTCOME_TOO_MANY_KV_BLOCKS // It needs more KV blocks than the server has.
	OutcomeQueueFull       Outcome = C.ROOFLUT_OUTCOME_QUEUE_FULL         // The queue was full.
	OutcomeAbandoned       Outcome = C.ROOFLUT_OUTCOME_ABANDONED          // Its client gave up before the first token.
	OutcomeCancelled       Outcome = C.ROOFLUT_OUTCOME_CANCELLED          // It was cancelled by Cancel.
	OutcomeOther           Outcome = C.ROOFLUT_OUTCOME_OTHER              // It was rejected for a reason that has no name here.
)

// Event is an event in the life of a request. Times are nanoseconds from the start; those after AtNS are of completed
// requests.
type Event struct {
	Request      uint64 // Number of the request, as Push returned it.
	AtNS         uint64
	AtEngineNS   uint64 // When the engine saw the request, after the API server.
	ScheduledNS  uint64 // When the step with its first chunk was scheduled.
	FirstTokenNS uint64 // When the step that yields its first token ended.
	APIOutputNS  uint64 // Delay of its tokens in the API server.
	Kind         EventKind
	Preemptions  uint32
	Outcome      Outcome
}

// ServerState is the state of a server.
type ServerState struct {
	NowNS             uint64
	NextEventNS       uint64 // The time to advance to next, unless the server is idle.
	OutstandingTokens uint64 // Tokens of prompt and output of requests that have not finished.
	Arriving          uint64 // Requests that the engine has not seen yet.
	Waiting           uint64
	Running           uint64
	KVBlocksUsed      uint32
	KVBlocks          uint32
	IsInStep          bool
	IsIdle            bool
}

// StepRecord is a step of a server.
type StepRecord struct {
	StartNS        uint64
	DurationNS     uint64
	KVTokens       uint64 // KV tokens of the decoding requests.
	PrefillChunks  uint32
	PrefillTokens  uint32
	DecodeRequests uint32
	DraftedTokens  uint32
	AcceptedTokens uint32
	YieldedTokens  uint32
	Running        uint32
	Waiting        uint32
	KVBlocksUsed   uint32
	Preempted      uint32
}

// Yield is output tokens of a request in a step.
type Yield struct {
	Request uint64
	Tokens  uint64
}

// Totals are counts of all steps that have ended.
type Totals struct {
	Steps, BusyNS                           uint64
	Completed, Rejected, Truncated          uint64 // Requests.
	Tokens, OutputTokens                    uint64 // Of completed requests.
	Preemptions                             uint64
	CacheLookups, CacheHits, CacheEvictions uint64 // Blocks.
	PeakKVBlocks                            uint64
}

// NewServer returns a server of the scenario at time 0, without requests.
func (s *Scenario) NewServer() (*Server, error) {
	made, err := made(func(out *C.uint64_t, e *C.RooflutError) C.uint32_t {
		return C.rooflut_server_new(C.uint64_t(s.handle), out, e)
	})
	if err != nil {
		return nil, err
	}
	return &Server{made}, nil
}

// Role is the role of a server.
type Role uint32

// Roles of servers.
const (
	RoleWhole   Role = C.ROOFLUT_ROLE_WHOLE   // Prefill and decode.
	RolePrefill Role = C.ROOFLUT_ROLE_PREFILL // Prefill.
	RoleDecode  Role = C.ROOFLUT_ROLE_DECODE  // Decode: the KV entries of a prompt are there when the request arrives.
)

// NewServerStage returns a server of the scenario as one of separate prefill and decode servers, for a router of the
// caller. Push a request with one output token to a prefill server, and when that has finished the whole request to a
// decode server, with the time at which its KV entries are there as ArrivalNS. A prefill server delays no outputs in the
// API server; a decode server has no API server before the engine, no queue limit and no patience of clients.
func (s *Scenario) NewServerStage(role Role) (*Server, error) {
	made, err := made(func(out *C.uint64_t, e *C.RooflutError) C.uint32_t {
		return C.rooflut_server_new_stage(C.uint64_t(s.handle), C.uint32_t(role), out, e)
	})
	if err != nil {
		return nil, err
	}
	return &Server{made}, nil
}

// Copy returns a server with the same clock, requests, KV cache and events, which goes on by itself.
func (s *Server) Copy() (*Server, error) {
	made, err := made(func(out *C.uint64_t, e *C.RooflutError) C.uint32_t {
		return C.rooflut_server_copy(C.uint64_t(s.handle), out, e)
	})
	if err != nil {
		return nil, err
	}
	return &Server{made}, nil
}

// Push adds a request and returns its number: how many were added before it. Requests may be added in any order of
// arrival, not before the current time.
func (s *Server) Push(request Request) (uint64, error) {
	written := C.RooflutRequest{
		arrival_ns:           C.uint64_t(request.ArrivalNS),
		prompt_tokens:        C.uint32_t(request.PromptTokens),
		output_tokens:        C.uint32_t(request.OutputTokens),
		cached_prompt_tokens: C.uint32_t(request.CachedPromptTokens),
		priority:             C.uint32_t(request.Priority),
	}
	var ids []uint64
	switch content := request.Content.(type) {
	case Texts:
		written.content = C.ROOFLUT_CONTENT_TEXTS
		written.prefix = C.uint64_t(content.Prefix)
		written.prefix_tokens = C.uint32_t(content.PrefixTokens)
		written.own = C.uint64_t(content.Own)
	case TraceBlocks:
		written.content = C.ROOFLUT_CONTENT_TRACE_BLOCKS
		written.block_tokens = C.uint32_t(content.BlockTokens)
		ids = content.IDs
	}
	var number C.uint64_t
	var e C.RooflutError
	code := C.server_push(C.uint64_t(s.handle), &written, first[C.uint64_t](ids), C.size_t(len(ids)), &number, &e)
	return uint64(number), failed(code, &e)
}

// Cancel cancels a request that waits, runs or is still to arrive: its KV blocks are freed, and its last event has
// OutcomeCancelled. It takes effect at the next step boundary, and at once for a request that arrives after the current
// time. A request whose last token comes from the step in flight is served all the same. A number that was never pushed,
// has finished or was cancelled is an error (CodeValue).
func (s *Server) Cancel(request uint64) error {
	var e C.RooflutError
	return failed(C.rooflut_server_cancel(C.uint64_t(s.handle), C.uint64_t(request), &e), &e)
}

// Advance moves the clock, runs all steps that begin before, and returns the state then. A step that ends at toNS has
// ended; no step begins at toNS, so requests that arrive at this time can still be added.
func (s *Server) Advance(toNS uint64) (ServerState, error) {
	var state C.RooflutServerState
	var e C.RooflutError
	code := C.rooflut_server_advance(C.uint64_t(s.handle), C.uint64_t(toNS), &state, &e)
	return serverState(&state), failed(code, &e)
}

// State returns the state of the server.
func (s *Server) State() (ServerState, error) {
	var state C.RooflutServerState
	var e C.RooflutError
	code := C.rooflut_server_state(C.uint64_t(s.handle), &state, &e)
	return serverState(&state), failed(code, &e)
}

// Events appends the events since the last call to events.
func (s *Server) Events(events []Event) ([]Event, error) {
	var oldest [32]C.RooflutEvent
	for {
		var length C.size_t
		var e C.RooflutError
		code := C.rooflut_server_events(C.uint64_t(s.handle), &oldest[0], C.size_t(len(oldest)), &length, &e)
		if err := failed(code, &e); err != nil {
			return events, err
		}
		for _, event := range oldest[:length] {
			events = append(events, Event{
				Request:      uint64(event.request),
				AtNS:         uint64(event.at_ns),
				AtEngineNS:   uint64(event.at_engine_ns),
				ScheduledNS:  uint64(event.scheduled_ns),
				FirstTokenNS: uint64(event.first_token_ns),
				APIOutputNS:  uint64(event.api_output_ns),
				Kind:         EventKind(event.kind),
				Preemptions:  uint32(event.preemptions),
				Outcome:      Outcome(event.outcome),
			})
		}
		if int(length) < len(oldest) {
			return events, nil
		}
	}
}

// Step runs one step to its end and returns its record and the requests with tokens in it. ok is false if the server
// is idle.
func (s *Server) Step() (record StepRecord, tokens []Yield, ok bool, err error) {
	var step C.RooflutStepRecord
	var e C.RooflutError
	if err := failed(C.rooflut_server_step(C.uint64_t(s.handle), &step, &e), &e); err != nil || step.duration_ns == 0 {
		return StepRecord{}, nil, false, err
	}
	tokens = make([]Yield, step.tokens_length)
	var length C.size_t
	code := C.rooflut_server_step_tokens(C.uint64_t(s.handle), first[C.RooflutYield](tokens), C.size_t(len(tokens)),
		&length, &e)
	if err := failed(code, &e); err != nil {
		return StepRecord{}, nil, false, err
	}
	record = StepRecord{
		StartNS:        uint64(step.start_ns),
		DurationNS:     uint64(step.duration_ns),
		KVTokens:       uint64(step.kv_tokens),
		PrefillChunks:  uint32(step.prefill_chunks),
		PrefillTokens:  uint32(step.prefill_tokens),
		DecodeRequests: uint32(step.decode_requests),
		DraftedTokens:  uint32(step.drafted_tokens),
		AcceptedTokens: uint32(step.accepted_tokens),
		YieldedTokens:  uint32(step.yielded_tokens),
		Running:        uint32(step.running),
		Waiting:        uint32(step.waiting),
		KVBlocksUsed:   uint32(step.kv_blocks_used),
		Preempted:      uint32(step.preempted),
	}
	return record, tokens[:length], true, nil
}

// Totals returns the counts of all steps that have ended.
func (s *Server) Totals() (Totals, error) {
	var totals C.RooflutServerTotals
	var e C.RooflutError
	code := C.rooflut_server_totals(C.uint64_t(s.handle), &totals, &e)
	return Totals{
		Steps:          uint64(totals.steps),
		BusyNS:         uint64(totals.busy_ns),
		Completed:      uint64(totals.completed),
		Rejected:       uint64(totals.rejected),
		Truncated:      uint64(totals.truncated),
		Tokens:         uint64(totals.tokens),
		OutputTokens:   uint64(totals.output_tokens),
		Preemptions:    uint64(totals.preemptions),
		CacheLookups:   uint64(totals.cache_lookups),
		CacheHits:      uint64(totals.cache_hits),
		CacheEvictions: uint64(totals.cache_evictions),
		PeakKVBlocks:   uint64(totals.peak_kv_blocks),
	}, failed(code, &e)
}

// Close frees the server.
func (s *Server) Close() error { return s.handle.free() }

func serverState(state *C.RooflutServerState) ServerState {
	return ServerState{
		NowNS:             uint64(state.now_ns),
		NextEventNS:       uint64(state.next_event_ns),
		OutstandingTokens: uint64(state.outstanding_tokens),
		Arriving:          uint64(state.arriving),
		Waiting:           uint64(state.waiting),
		Running:           uint64(state.running),
		KVBlocksUsed:      uint32(state.kv_blocks_used),
		KVBlocks:          uint32(state.kv_blocks),
		IsInStep:          state.is_in_step != 0,
		IsIdle:            state.is_idle != 0,
	}
}

// The memory of a yield is that of C.
var _ [unsafe.Sizeof(C.RooflutYield{})]byte = [unsafe.Sizeof(Yield{})]byte{}
