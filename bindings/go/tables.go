package rooflut

/*
#include <rooflut.h>
#cgo noescape rooflut_lookup_at
#cgo nocallback rooflut_lookup_at
*/
import "C"

// Tables is a set of measured tables of a GPU.
type Tables struct{ handle handle }

// FindTables returns a built-in table set by its name.
func FindTables(name string) (*Tables, error) {
	return tables(made(func(out *C.uint64_t, e *C.RooflutError) C.uint32_t {
		data, length := chars(name)
		return C.rooflut_tables_find(data, length, out, e)
	}))
}

// LoadTables reads a table set of one's own from a folder or file.
func LoadTables(path string) (*Tables, error) {
	return tables(made(func(out *C.uint64_t, e *C.RooflutError) C.uint32_t {
		data, length := chars(path)
		return C.rooflut_tables_load(data, length, out, e)
	}))
}

// TablesNames returns the names of the built-in table sets.
func TablesNames() ([]string, error) {
	return names(func(out *C.uint64_t, e *C.RooflutError) C.uint32_t { return C.rooflut_tables_names(out, e) })
}

// Describe returns name, GPU, source and measured operations as JSON.
func (t *Tables) Describe() (string, error) {
	return text(func(out *C.uint64_t, e *C.RooflutError) C.uint32_t {
		return C.rooflut_tables_describe(C.uint64_t(t.handle), out, e)
	})
}

// Close frees the set. Scenarios and lookups that were made with it stay.
func (t *Tables) Close() error { return t.handle.free() }

func tables(made handle, err error) (*Tables, error) {
	if err != nil {
		return nil, err
	}
	return &Tables{made}, nil
}

// Lookup is a kernel that was found in a table.
type Lookup struct{ handle handle }

// Estimate is the time of a kernel and its provenance.
type Estimate struct {
	Seconds   float64
	MFU       float64 // Model FLOPs utilization, 0 to 1.
	Class     Class
	IsOutside bool // Whether the query lies outside of the measured axes.
}

// Lookup finds a kernel. It is an object of JSON with one key, the operation as in Describe, and its shape:
// {"gemm": {"dtype": "bf16", "k": 4096, "n": 6144}}. rooflut.h says at rooflut_lookup_new which keys a shape has.
func (t *Tables) Lookup(kernel string) (*Lookup, error) {
	made, err := made(func(out *C.uint64_t, e *C.RooflutError) C.uint32_t {
		data, length := chars(kernel)
		return C.rooflut_lookup_new(C.uint64_t(t.handle), data, length, out, e)
	})
	if err != nil {
		return nil, err
	}
	return &Lookup{made}, nil
}

// At returns the time of the kernel. size is the number of rows of a gemm, tokens of a moe or a hyper_connection, bytes of
// the whole message of a collective, tokens of each prompt of a prefill, KV tokens of all requests of a decode, KV tokens
// of each request of a decode_window; batch the number of requests of a prefill or decode, 0 for the others. A
// delta_decode has no size: 0.
func (l *Lookup) At(batch uint32, size uint64) (Estimate, error) {
	var found C.RooflutEstimate
	var e C.RooflutError
	code := C.rooflut_lookup_at(C.uint64_t(l.handle), C.uint32_t(batch), C.uint64_t(size), &found, &e)
	if err := failed(code, &e); err != nil {
		return Estimate{}, err
	}
	return Estimate{
		Seconds:   float64(found.seconds),
		MFU:       float64(found.mfu),
		Class:     Class(found.class_),
		IsOutside: found.is_outside != 0,
	}, nil
}

// Close frees the lookup.
func (l *Lookup) Close() error { return l.handle.free() }
