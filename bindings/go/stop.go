package rooflut

/*
#include <rooflut.h>
*/
import "C"

import (
	"context"
	"errors"
)

// until makes a call that ends when the context does, then with its error.
func until(ctx context.Context, call func(stop C.uint64_t) (string, error)) (string, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if ctx.Done() == nil {
		return call(0)
	}
	stop, err := made(func(out *C.uint64_t, e *C.RooflutError) C.uint32_t { return C.rooflut_stop_new(out, e) })
	if err != nil {
		return "", err
	}
	// A stop that is freed before the context ends is not used again.
	unregister := context.AfterFunc(ctx, func() { C.rooflut_stop(C.uint64_t(stop), nil) })
	defer stop.free()
	defer unregister()
	answer, err := call(C.uint64_t(stop))
	var refused *Error
	if errors.As(err, &refused) && refused.Code == C.ROOFLUT_CODE_STOPPED {
		return "", context.Cause(ctx)
	}
	return answer, err
}
