package rooflut

// #include <rooflut.h>
import "C"

// String returns the name of the part, such as "qkv".
func (p Part) String() string { return C.GoString(C.rooflut_part_name(C.uint32_t(p))) }

// String returns the name of the resource, such as "memory".
func (b Binding) String() string { return C.GoString(C.rooflut_binding_name(C.uint32_t(b))) }

// String returns the name of the class, such as "measured".
func (c Class) String() string { return C.GoString(C.rooflut_class_name(C.uint32_t(c))) }

// String returns the name of the kind, such as "first_token".
func (k EventKind) String() string { return C.GoString(C.rooflut_event_kind_name(C.uint32_t(k))) }

// String returns the name of the outcome, such as "completed".
func (o Outcome) String() string { return C.GoString(C.rooflut_outcome_name(C.uint32_t(o))) }
