package rooflut

/*
#include <rooflut.h>
*/
import "C"

import (
	"bytes"
	"unsafe"
)

// Code is the kind of an Error.
type Code uint32

// Kinds of errors.
const (
	CodePointer  Code = C.ROOFLUT_CODE_POINTER   // A pointer is null; a slice that must not be empty is.
	CodeHandle   Code = C.ROOFLUT_CODE_HANDLE    // The object is closed.
	CodeBusy     Code = C.ROOFLUT_CODE_BUSY      // Another goroutine uses the object.
	CodeLength   Code = C.ROOFLUT_CODE_LENGTH    // A length contradicts another.
	CodeValue    Code = C.ROOFLUT_CODE_VALUE     // A number is out of range.
	CodeUTF8     Code = C.ROOFLUT_CODE_UTF8      // A text is not UTF-8.
	CodeRefused  Code = C.ROOFLUT_CODE_REFUSED   // The library rejects the input.
	CodeFull     Code = C.ROOFLUT_CODE_FULL      // There are too many objects.
	CodePanic    Code = C.ROOFLUT_CODE_PANIC     // A defect of the library.
	CodeStepTime Code = C.ROOFLUT_CODE_STEP_TIME // No valid time was predicted for a step, or it ends after the clock.
)

// Error says what was found, what was expected and what to do.
type Error struct {
	Code    Code
	Message string
}

func (e *Error) Error() string {
	return "rooflut: " + e.Message
}

// failed returns the error of a call, nil after a success.
func failed(code C.uint32_t, e *C.RooflutError) error {
	if code == C.ROOFLUT_CODE_OK {
		return nil
	}
	// Unlike C.GoString, this leaves e on the stack.
	message := (*[len(e.message)]byte)(unsafe.Pointer(&e.message))[:]
	length := max(bytes.IndexByte(message, 0), 0)
	return &Error{Code: Code(code), Message: string(message[:length])}
}
