//! Names of parts, resources, classes and events.

use std::ffi::{CStr, c_char};

use rooflut::engine::stacks;

use crate::Handle;
use crate::error::Error;
use crate::text::{list, returning};

/// Returns the names of the engine stacks, the values of the key `engine`, as a text of JSON, a list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_engine_names(names: *mut Handle, error: *mut Error) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { returning((names, "names"), error, || list(&stacks::ALL.map(|stack| stack.name))) }
}

/// Returns the name of a `RooflutPart`, such as `qkv`: a text that ends with a zero and is never freed.
#[unsafe(no_mangle)]
pub extern "C" fn rooflut_part_name(part: u32) -> *const c_char {
    name(PARTS, part)
}

/// Returns the name of a `RooflutBinding`, such as `memory`: a text that ends with a zero and is never freed.
#[unsafe(no_mangle)]
pub extern "C" fn rooflut_binding_name(binding: u32) -> *const c_char {
    name(BINDINGS, binding)
}

/// Returns the name of a `RooflutClass`, such as `measured`: a text that ends with a zero and is never freed.
#[unsafe(no_mangle)]
pub extern "C" fn rooflut_class_name(class_: u32) -> *const c_char {
    name(CLASSES, class_)
}

/// Returns the name of a `RooflutEventKind`, such as `first_token`: a text that ends with a zero and is never freed.
#[unsafe(no_mangle)]
pub extern "C" fn rooflut_event_kind_name(kind: u32) -> *const c_char {
    name(EVENT_KINDS, kind)
}

/// Returns the name of a `RooflutOutcome`, such as `completed`: a text that ends with a zero and is never freed.
#[unsafe(no_mangle)]
pub extern "C" fn rooflut_outcome_name(outcome: u32) -> *const c_char {
    name(OUTCOMES, outcome)
}

const PARTS: &[&CStr] = &[
    c"qkv",
    c"prefill_attention",
    c"decode_attention",
    c"o_proj",
    c"gate_up",
    c"down",
    c"router",
    c"moe",
    c"exchange",
    c"all_reduce",
    c"transfer",
    c"small_kernels",
    c"lm_head",
    c"sampling",
    c"host",
];

const BINDINGS: &[&CStr] = &[c"compute", c"memory", c"latency", c"link"];

const CLASSES: &[&CStr] = &[c"measured", c"interpolated", c"smoothed", c"transferred", c"bound", c"fitted"];

const EVENT_KINDS: &[&CStr] = &[c"first_token", c"finished"];

const OUTCOMES: &[&CStr] =
    &[c"none", c"completed", c"too_many_kv_blocks", c"queue_full", c"abandoned", c"cancelled", c"other"];

fn name(names: &[&'static CStr], number: u32) -> *const c_char {
    let named = names.get(number as usize);
    named.copied().unwrap_or(c"unknown").as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Class, Event, Outcome};
    use rooflut::sim::{self, Rejection, Request, RequestId, RequestRecord, ServerEvent, Timing};
    use rooflut::step::{Binding, Part};
    use rooflut::table;

    #[test]
    fn names_are_those_of_the_library() {
        let same = |names: &[&CStr], library: &[&str]| {
            let names: Vec<_> = names.iter().map(|name| name.to_str().unwrap()).collect();
            assert_eq!(names, library);
        };
        same(PARTS, &Part::ALL.map(Part::name));
        same(BINDINGS, &Binding::ALL.map(Binding::name));
        let fitted = Class::Fitted as usize;
        same(&CLASSES[..fitted], &table::Class::ALL.map(table::Class::name));
        assert_eq!(CLASSES[fitted], c"fitted");
        let id = RequestId::new(0);
        let finished = |outcome| {
            let record = RequestRecord::new(Request::default(), outcome);
            ServerEvent::Finished { id, at_ns: 0, record }
        };
        let completed = sim::Outcome::Completed(Timing::default());
        for event in [ServerEvent::FirstToken { id, at_ns: 0 }, finished(completed)] {
            same(&[EVENT_KINDS[Event::from(event).kind as usize]], &[event.name()]);
        }
        assert_eq!(OUTCOMES[Outcome::None as usize], c"none");
        let rejected = [
            Rejection::TooManyBlocks { blocks: 2, kv_blocks: 1 },
            Rejection::QueueFull { max_waiting: 1 },
            Rejection::Abandoned { patience_ns: 1 },
            Rejection::Cancelled,
        ];
        for outcome in rejected.map(sim::Outcome::Rejected).into_iter().chain([completed]) {
            let found = Event::from(finished(outcome)).outcome as usize;
            same(&[OUTCOMES[found]], &[rooflut_report::outcome_name(&outcome)]);
        }
        let other = Event::from(finished(sim::Outcome::Rejected(Rejection::EmptyPrompt)));
        assert_eq!((other.outcome, OUTCOMES[Outcome::Other as usize]), (Outcome::Other as u32, c"other"));
        let unknown = rooflut_part_name(u32::MAX);
        // SAFETY: names are never freed.
        assert_eq!(unsafe { CStr::from_ptr(unknown) }, c"unknown");
    }
}
