// Package rooflut predicts how long LLM inference takes: times of kernels and engine steps from measured tables, a
// serving simulator with vLLM's scheduling that the caller may drive, and reports of whole runs.
//
// Objects live in the library until Close; nothing is freed behind the caller's back, and a closed object returns
// errors. Everything but a Server may be used by several goroutines at once; a Server that is in use returns an error
// with CodeBusy.
package rooflut

/*
#cgo pkg-config: rooflut
#include <rooflut.h>
*/
import "C"

// Version returns the version of the library.
func Version() string {
	return C.GoString(C.rooflut_version())
}
