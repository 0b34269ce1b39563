package rooflut

/*
#include <rooflut.h>
#include <stdlib.h>
#cgo noescape rooflut_free
#cgo nocallback rooflut_free
#cgo noescape rooflut_text_read
#cgo nocallback rooflut_text_read
*/
import "C"

import (
	"encoding/json"
	"unsafe"
)

// handle is an object in the library's registry. 0 is none.
type handle C.uint64_t

func (h handle) free() error {
	var e C.RooflutError
	return failed(C.rooflut_free(C.uint64_t(h), &e), &e)
}

// chars returns the bytes of a text, which C only reads during a call.
func chars(text string) (*C.char, C.size_t) {
	return (*C.char)(unsafe.Pointer(unsafe.StringData(text))), C.size_t(len(text))
}

// made returns the handle that a call has written.
func made(call func(out *C.uint64_t, e *C.RooflutError) C.uint32_t) (handle, error) {
	var out C.uint64_t
	var e C.RooflutError
	if err := failed(call(&out, &e), &e); err != nil {
		return 0, err
	}
	return handle(out), nil
}

// text returns the text that a call has made, and frees it.
func text(call func(out *C.uint64_t, e *C.RooflutError) C.uint32_t) (string, error) {
	made, err := made(call)
	if err != nil {
		return "", err
	}
	bytes, err := made.bytes()
	if freed := made.free(); err == nil {
		err = freed
	}
	return string(bytes), err
}

// names returns the list of the text that a call has made.
func names(call func(out *C.uint64_t, e *C.RooflutError) C.uint32_t) ([]string, error) {
	list, err := text(call)
	if err != nil {
		return nil, err
	}
	var names []string
	err = json.Unmarshal([]byte(list), &names)
	return names, err
}

func (h handle) bytes() ([]byte, error) {
	var length C.size_t
	var e C.RooflutError
	code := C.rooflut_text_read(C.uint64_t(h), nil, 0, &length, &e)
	if err := failed(code, &e); err != nil || length == 0 {
		return nil, err
	}
	bytes := make([]byte, length)
	first := (*C.char)(unsafe.Pointer(unsafe.SliceData(bytes)))
	code = C.rooflut_text_read(C.uint64_t(h), first, length, &length, &e)
	return bytes, failed(code, &e)
}
