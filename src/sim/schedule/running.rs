//! The running requests. Decoding ones are kept as sums: between its first token and its last, a request only
//! grows by a token per step.

use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::engine::Scheduling;
use crate::model::Span;
use crate::sim::schedule::outside::Outside;
use crate::sim::schedule::sequence::Sequence;
use crate::sim::{PrefixCaching, SimConfig};
use crate::step::DecodeGroup;

/// A running request: its slot, and its admission, as slots are reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Admitted {
    admission: u64,
    slot: u32,
}

/// Running requests, each in a sequence slot.
///
/// Costs: a step of all decoding requests O(1), a request that starts or stops decoding O(log n).
#[derive(Debug, Clone)]
pub(crate) struct Running {
    slots: Vec<Option<(u64, Sequence)>>,
    vacant: Vec<u32>,
    /// Requests in order of admission; removed ones are dropped lazily.
    order: VecDeque<Admitted>,
    admissions: u64,
    count: usize,
    /// Requests in prefill, in order of admission. Without a `long_prefill_token_threshold` there is at most one, the
    /// last admitted: when the budget cuts a prompt, no further request is admitted.
    pub(crate) partial: Vec<Admitted>,
    decode: DecodeSet,
    caching: PrefixCaching,
}

/// All requests that take a token in the next step.
#[derive(Debug, Clone)]
struct DecodeSet {
    /// Number of requests, and their KV tokens in the next step.
    next: DecodeGroup,
    /// The tokens and blocks outside windows or chunks, if there are layers with such.
    limited: Option<Limited>,
    /// Number of requests by the step in which they need a block, modulo the block size.
    growing: Vec<u32>,
    /// Requests whose blocks others can share, likewise; those that were removed or left out of a step are dropped
    /// lazily.
    sharing: Vec<Vec<Admitted>>,
    /// Whether `sharing` has had requests whose blocks others can share.
    shares: bool,
    /// Last step of each request; dropped lazily if it was left out of a step since.
    ends: BinaryHeap<Reverse<(u64, Admitted)>>,
}

/// The tokens and blocks of decoding requests that layers with a window or chunks do not read.
#[derive(Debug, Clone)]
struct Limited {
    outside: Outside,
    /// When windows leave blocks behind, if such layers have groups of their own: `sharing` has all requests then.
    slides: Option<Slides>,
}

impl Limited {
    fn of(config: &SimConfig) -> Option<Limited> {
        Some(Limited { outside: Outside::of(config.kv_groups.span)?, slides: Slides::of(config) })
    }
}

/// When the windows of decoding requests leave blocks behind.
#[derive(Debug, Clone)]
struct Slides {
    /// Steps from one in which a request leaves a block behind to the next one in which it needs a block.
    before: u64,
    /// Steps after which the tokens of a step count.
    lag: u64,
    /// Tokens of the longest request that leaves no block behind.
    longest_within: u64,
    /// Requests that begin to decode, and their first step: their last chunk leaves any number of blocks behind.
    first: Vec<(u64, Admitted)>,
    /// Buffer of the requests to visit.
    buffer: Vec<Admitted>,
}

impl Slides {
    fn of(config: &SimConfig) -> Option<Slides> {
        let ahead = config.rules.scheduling == Scheduling::OneStepAhead;
        let lag = u64::from(config.rules.window_in_flight && ahead);
        let block = u64::from(config.block_size.max(1));
        let (beyond, longest_within) = match config.kv_groups.span {
            _ if config.kv_groups.limited == 0 => return None,
            Span::Full => return None,
            Span::Window(tokens) => {
                let beyond = u64::from(tokens.saturating_sub(1));
                (beyond, beyond + block)
            }
            Span::Chunk(tokens) => (0, u64::from(tokens)),
        };
        // It leaves one behind with n blocks and this many tokens.
        let before = (block - (beyond + lag) % block) % block;
        Some(Slides { before, lag, longest_within, first: Vec::new(), buffer: Vec::new() })
    }
}

impl Running {
    pub(crate) fn new(config: &SimConfig) -> Running {
        let block_size = config.block_size.max(1) as usize;
        Running {
            slots: Vec::new(),
            vacant: Vec::new(),
            order: VecDeque::new(),
            admissions: 0,
            count: 0,
            partial: Vec::new(),
            decode: DecodeSet {
                next: DecodeGroup::EMPTY,
                limited: Limited::of(config),
                growing: vec![0; block_size],
                sharing: vec![Vec::new(); block_size],
                shares: false,
                ends: BinaryHeap::new(),
            },
            caching: config.prefix_caching,
        }
    }

    /// Returns the number of running requests.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Returns the requests that decode in the next step.
    pub(crate) fn decoding(&self) -> DecodeGroup {
        self.decode.next
    }

    /// Returns the number of decoding requests that need one more block in `step`, the next step.
    pub(crate) fn growing(&self, step: u64) -> u32 {
        let growing = &self.decode.growing;
        let index = (step % growing.len() as u64) as usize;
        growing.get(index).copied().unwrap_or(0)
    }

    /// Returns whether blocks of decoding requests can be shared with others.
    #[inline]
    pub(crate) fn shares(&self) -> bool {
        self.decode.shares
    }

    /// Calls `visit` with each decoding request that needs one more block in `step` and whose blocks others can
    /// share, in order of admission, and with its tokens before `step`. Cost: O(requests visited).
    pub(crate) fn for_each_sharing(&mut self, step: u64, mut visit: impl FnMut(&mut Sequence, u32)) {
        let block = self.decode.sharing.len() as u64;
        let Some(sharing) = self.decode.sharing.get_mut((step % block) as usize) else {
            return;
        };
        sharing.retain(|admitted| {
            let sequence = held_mut(&mut self.slots, *admitted);
            let growing = sequence.filter(|sequence| sequence.grows_in(step, block));
            growing.is_some_and(|sequence| {
                if sequence.shares() {
                    let computed = sequence.computed_before(step);
                    visit(sequence, computed);
                }
                true
            })
        });
    }

    /// Calls `visit` with each decoding request whose window may leave blocks behind in `step`, the next step, in order
    /// of admission. Cost: O(requests visited), of which each is every `block_size` steps.
    pub(crate) fn for_each_sliding(&mut self, step: u64, mut visit: impl FnMut(&mut Sequence)) {
        let DecodeSet { sharing, limited, .. } = &mut self.decode;
        let Some(slides) = limited.as_mut().and_then(|of| of.slides.as_mut()) else {
            return;
        };
        let block = sharing.len() as u64;
        let slots = &mut self.slots;
        let buffer = &mut slides.buffer;
        buffer.clear();
        let grows = step + slides.before;
        if let Some(list) = sharing.get_mut((grows % block) as usize) {
            list.retain(|admitted| {
                let sequence = held(slots, *admitted);
                sequence.is_some_and(|sequence| sequence.grows_in(grows, block))
            });
            buffer.extend_from_slice(list);
        }
        let lag = slides.lag;
        let due = slides.first.iter().filter(|(first, _)| *first <= step && step <= first + lag);
        let listed = buffer.len();
        buffer.extend(due.map(|(_, admitted)| *admitted));
        if buffer.len() > listed {
            buffer.sort_unstable();
            buffer.dedup();
        }
        for &admitted in &*buffer {
            if let Some(sequence) = held_mut(slots, admitted)
                && sequence.decodes_from.is_some_and(|from| from <= step)
            {
                visit(sequence);
            }
        }
    }

    /// Returns the first step in which a request takes its last token; `None` if none decodes.
    pub(crate) fn first_end(&self) -> Option<u64> {
        self.decode.ends.peek().map(|Reverse((step, _))| *step)
    }

    /// Lets all decoding requests take a token in the next step, `step`.
    #[inline]
    pub(crate) fn advance(&mut self, step: u64) -> DecodeGroup {
        let taken = self.decode.next;
        self.decode.next.kv_tokens += u64::from(taken.requests);
        if let Some(Limited { outside, slides }) = &mut self.decode.limited {
            self.decode.next.outside_tokens += outside.advance(step + 1);
            if let Some(slides) = slides {
                let lag = slides.lag;
                slides.first.retain(|(first, _)| step < first + lag);
            }
        }
        taken
    }

    /// Removes the next request that takes its last token in `step` from the decoding ones; it keeps its slot.
    pub(crate) fn next_end(&mut self, step: u64) -> Option<Admitted> {
        loop {
            let &Reverse((end, admitted)) = self.decode.ends.peek()?;
            if end > step {
                return None;
            }
            self.decode.ends.pop();
            if self.get(admitted).and_then(Sequence::end) == Some(end) {
                self.leave_decode(admitted, step + 1);
                return Some(admitted);
            }
        }
    }

    /// Puts a request into a slot.
    pub(crate) fn admit(&mut self, sequence: Sequence) -> Admitted {
        self.admissions += 1;
        self.count += 1;
        let admission = self.admissions;
        let held = Some((admission, sequence));
        let slot = match self.vacant.pop() {
            Some(slot) => {
                if let Some(vacant) = self.slots.get_mut(slot as usize) {
                    *vacant = held;
                }
                slot
            }
            None => {
                self.slots.push(held);
                (self.slots.len() - 1) as u32
            }
        };
        let admitted = Admitted { admission, slot };
        self.trim_order();
        self.order.push_back(admitted);
        admitted
    }

    /// Returns the request if it still runs.
    pub(crate) fn get(&self, admitted: Admitted) -> Option<&Sequence> {
        held(&self.slots, admitted)
    }

    /// Returns the request if it still runs.
    pub(crate) fn get_mut(&mut self, admitted: Admitted) -> Option<&mut Sequence> {
        held_mut(&mut self.slots, admitted)
    }

    /// Returns all running requests.
    pub(crate) fn sequences_mut(&mut self) -> impl Iterator<Item = &mut Sequence> {
        let held = self.slots.iter_mut().flatten();
        held.map(|(_, sequence)| sequence)
    }

    /// Adds a request whose prompt is computed to the decoding ones, from `step` on.
    pub(crate) fn decode_from(&mut self, admitted: Admitted, step: u64) {
        let caching = self.caching == PrefixCaching::Enabled;
        let Some(sequence) = self.get_mut(admitted) else {
            return;
        };
        sequence.decodes_from = Some(step);
        let tokens = sequence.request.tokens();
        let computed = sequence.computed();
        let end = sequence.end();
        let shares = caching && sequence.shares();
        self.decode.next.requests += 1;
        self.decode.next.kv_tokens += u64::from(computed) + 1;
        let mut slides = false;
        if let Some(limited) = &mut self.decode.limited {
            self.decode.next.outside_tokens += limited.outside.add(computed, step);
            if let Some(of) = &mut limited.slides
                && tokens > of.longest_within
            {
                of.first.push((step, admitted));
                slides = true;
            }
        }
        let index = self.decode.index(computed, step);
        self.decode.change(index, 1);
        if (shares || slides)
            && let Some(sharing) = self.decode.sharing.get_mut(index)
        {
            // In order of admission, which is not that of the last chunks if several prompts were partial.
            if let Err(place) = sharing.binary_search(&admitted) {
                sharing.insert(place, admitted);
            }
            self.decode.shares |= shares;
        }
        if let Some(end) = end {
            self.decode.ends.push(Reverse((end, admitted)));
        }
    }

    /// Removes a request from the decoding ones; `step` is the next step.
    pub(crate) fn leave_decode(&mut self, admitted: Admitted, step: u64) {
        let block_size = self.decode.growing.len() as u32;
        let Some(sequence) = self.get_mut(admitted) else {
            return;
        };
        sequence.catch_up(step, block_size);
        sequence.decodes_from = None;
        let computed = sequence.computed();
        self.decode.next.requests -= 1;
        self.decode.next.kv_tokens -= u64::from(computed) + 1;
        if let Some(limited) = &mut self.decode.limited {
            self.decode.next.outside_tokens -= limited.outside.remove(computed, step);
        }
        let index = self.decode.index(computed, step);
        self.decode.change(index, u32::MAX);
    }

    /// Removes a running request; `step` is the next step.
    pub(crate) fn remove(&mut self, admitted: Admitted, step: u64) -> Option<Sequence> {
        self.get(admitted)?;
        if self.get(admitted).is_some_and(|s| s.decodes_from.is_some()) {
            self.leave_decode(admitted, step);
        }
        if !self.partial.is_empty() {
            self.partial.retain(|partial| *partial != admitted);
        }
        self.count -= 1;
        self.vacant.push(admitted.slot);
        let (_, sequence) = self.slots.get_mut(admitted.slot as usize)?.take()?;
        Some(sequence)
    }

    /// Returns whether a request is the last admitted of all that run.
    pub(crate) fn is_last(&self, admitted: Admitted) -> bool {
        self.order.back() == Some(&admitted)
    }

    /// Returns all running requests, in order of admission.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = Admitted> + '_ {
        let held = |admitted: &Admitted| self.get(*admitted).is_some();
        self.order.iter().copied().filter(held)
    }

    /// Drops removed requests from the order, which stays at most about twice as long as the running requests.
    fn trim_order(&mut self) {
        while let Some(&first) = self.order.front()
            && self.get(first).is_none()
        {
            self.order.pop_front();
        }
        if self.order.len() > 2 * self.count + 16 {
            let Running { order, slots, .. } = self;
            order.retain(|admitted| held(slots, *admitted).is_some());
        }
    }
}

fn held(slots: &[Option<(u64, Sequence)>], admitted: Admitted) -> Option<&Sequence> {
    match slots.get(admitted.slot as usize) {
        Some(Some((admission, sequence))) if *admission == admitted.admission => Some(sequence),
        _ => None,
    }
}

fn held_mut(slots: &mut [Option<(u64, Sequence)>], admitted: Admitted) -> Option<&mut Sequence> {
    match slots.get_mut(admitted.slot as usize) {
        Some(Some((admission, sequence))) if *admission == admitted.admission => Some(sequence),
        _ => None,
    }
}

impl DecodeSet {
    /// Returns the index in `growing` of a request with `computed` tokens before `step`.
    fn index(&self, computed: u32, step: u64) -> usize {
        let block = self.growing.len() as u64;
        // It needs a block in step t if computed + (t - step) = 0 modulo the block size.
        let until = (block - u64::from(computed) % block) % block;
        ((step + until) % block) as usize
    }

    fn change(&mut self, index: usize, by: u32) {
        if let Some(count) = self.growing.get_mut(index) {
            *count = count.wrapping_add(by);
        }
    }
}
