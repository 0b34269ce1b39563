//! The registry of objects: the only global state.
//!
//! A handle holds the kind of its object (4 bits), the generation of its slot (28 bits) and the slot (32 bits). A slot
//! gets a new generation when its object is freed, and is not used again after the last generation: a handle that was
//! freed never becomes valid again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, RwLock, TryLockError};

use crate::Handle;
use crate::border::call;
use crate::error::{Code, Error, Failure};
use crate::server::DrivenServer;
use rooflut::op::Kernel;
use rooflut::table::TableSet;
use rooflut_scenario::{Model, Run, Stop};

/// All objects.
pub(crate) static REGISTRY: Registry = Registry {
    models: Slab::new(Kind::Model),
    tables: Slab::new(Kind::Tables),
    lookups: Slab::new(Kind::Lookup),
    scenarios: Slab::new(Kind::Scenario),
    servers: Slab::new(Kind::Server),
    texts: Slab::new(Kind::Text),
    stops: Slab::new(Kind::Stop),
};

/// Objects by kind.
pub(crate) struct Registry {
    pub(crate) models: Slab<Model>,
    pub(crate) tables: Slab<TableSet>,
    pub(crate) lookups: Slab<Kernel>,
    pub(crate) scenarios: Slab<Run>,
    pub(crate) servers: Slab<DrivenServer>,
    pub(crate) texts: Slab<String>,
    pub(crate) stops: Slab<Stop>,
}

/// The kind of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Model = 1,
    Tables = 2,
    Lookup = 3,
    Scenario = 4,
    Server = 5,
    Text = 6,
    Stop = 7,
}

impl Kind {
    const ALL: [(Kind, &'static str); 7] = [
        (Kind::Model, "model"),
        (Kind::Tables, "table set"),
        (Kind::Lookup, "lookup"),
        (Kind::Scenario, "scenario"),
        (Kind::Server, "server"),
        (Kind::Text, "text"),
        (Kind::Stop, "stop"),
    ];

    /// Returns the kind that a handle names.
    fn of(handle: Handle) -> Option<Kind> {
        let mut known = Kind::ALL.into_iter().map(|(kind, _)| kind);
        known.find(|kind| *kind as u64 == handle >> KIND_SHIFT)
    }

    fn name(self) -> &'static str {
        let named = Kind::ALL.into_iter().find(|(kind, _)| *kind == self);
        named.map_or("handle", |(_, name)| name)
    }
}

/// Frees the object of a handle of any kind.
///
/// An object that another thread uses is not freed (`ROOFLUT_CODE_BUSY`). Objects do not depend on each other: a
/// scenario may be freed before its servers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_free(handle: Handle, error: *mut Error) -> u32 {
    let free = || match Kind::of(handle) {
        Some(Kind::Model) => REGISTRY.models.remove(handle),
        Some(Kind::Tables) => REGISTRY.tables.remove(handle),
        Some(Kind::Lookup) => REGISTRY.lookups.remove(handle),
        Some(Kind::Scenario) => REGISTRY.scenarios.remove(handle),
        Some(Kind::Server) => REGISTRY.servers.remove(handle),
        Some(Kind::Text) => REGISTRY.texts.remove(handle),
        Some(Kind::Stop) => REGISTRY.stops.remove(handle),
        None => Err(foreign(handle, "handle")),
    };
    // SAFETY: the caller's promise.
    unsafe { call(error, free) }
}

const KIND_SHIFT: u32 = 60;
const GENERATION_SHIFT: u32 = 32;
/// The last generation of a slot.
const LAST_GENERATION: u32 = (1 << (KIND_SHIFT - GENERATION_SHIFT)) - 1;
/// Slots of a block.
const BLOCK: usize = 1 << 10;
/// Blocks of a kind: a million slots.
const BLOCKS: usize = 1 << 10;

/// Objects of one kind. Slots are never moved or freed, so that a lookup takes no lock but that of its object.
pub(crate) struct Slab<T> {
    kind: Kind,
    blocks: [OnceLock<Box<[Slot<T>]>>; BLOCKS],
    free: Mutex<Free>,
}

/// Slots without an object.
struct Free {
    /// Slots that had one.
    used: Vec<usize>,
    /// The first slot that never had one.
    next: usize,
}

struct Slot<T> {
    /// Handle of the object, 0 if there is none; changed only under the lock of `entry`.
    handle: AtomicU64,
    entry: RwLock<Entry<T>>,
}

struct Entry<T> {
    /// Generation of the last object.
    generation: u32,
    object: Option<Box<T>>,
}

impl<T> Slab<T> {
    const fn new(kind: Kind) -> Slab<T> {
        Slab { kind, blocks: [const { OnceLock::new() }; BLOCKS], free: Mutex::new(Free { used: Vec::new(), next: 0 }) }
    }

    /// Adds an object and returns its handle.
    pub(crate) fn insert(&self, object: T) -> Result<Handle, Failure> {
        let index = self.free_index();
        let block = self.blocks.get(index / BLOCK);
        let slots = block.map(|slots| slots.get_or_init(|| (0..BLOCK).map(|_| Slot::new()).collect()));
        let slot = slots.and_then(|slots| slots.get(index % BLOCK)).ok_or_else(|| full(self.kind))?;
        let mut entry = slot.entry.write().unwrap_or_else(PoisonError::into_inner);
        entry.generation += 1;
        entry.object = Some(Box::new(object));
        let kind = (self.kind as u64) << KIND_SHIFT;
        let handle = kind | u64::from(entry.generation) << GENERATION_SHIFT | index as u64;
        slot.handle.store(handle, Ordering::Relaxed);
        Ok(handle)
    }

    /// Takes a slot that has no object, one after all slots if there is none.
    fn free_index(&self) -> usize {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let next = free.next;
        free.used.pop().unwrap_or_else(|| {
            free.next = (next + 1).min(BLOCK * BLOCKS);
            next
        })
    }

    /// Calls `use_it` with the object of a handle; other threads may use it at the same time.
    #[inline]
    pub(crate) fn read<R>(&self, handle: Handle, use_it: impl FnOnce(&T) -> Result<R, Failure>) -> Result<R, Failure> {
        let slot = self.slot(handle)?;
        let Ok(entry) = slot.entry.read() else {
            return Err(poisoned(self.kind));
        };
        match &entry.object {
            Some(object) if slot.has(handle) => use_it(object),
            _ => Err(foreign(handle, self.kind.name())),
        }
    }

    /// Calls `use_it` with the object of a handle, which no other thread may use at the same time.
    #[inline]
    pub(crate) fn write<R>(
        &self,
        handle: Handle,
        use_it: impl FnOnce(&mut T) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let slot = self.slot(handle)?;
        let mut entry = match slot.entry.try_write() {
            Ok(entry) => entry,
            Err(TryLockError::WouldBlock) => return Err(busy(self.kind)),
            Err(TryLockError::Poisoned(_)) => return Err(poisoned(self.kind)),
        };
        match &mut entry.object {
            Some(object) if slot.has(handle) => use_it(object),
            _ => Err(foreign(handle, self.kind.name())),
        }
    }

    fn remove(&self, handle: Handle) -> Result<(), Failure> {
        let slot = self.slot(handle)?;
        let (removed, generation) = {
            let mut entry = match slot.entry.try_write() {
                Ok(entry) => entry,
                Err(TryLockError::WouldBlock) => return Err(busy(self.kind)),
                // An object whose last call panicked can be freed.
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            };
            if !slot.has(handle) {
                return Err(foreign(handle, self.kind.name()));
            }
            slot.handle.store(0, Ordering::Relaxed);
            slot.entry.clear_poison();
            (entry.object.take(), entry.generation)
        };
        if generation < LAST_GENERATION {
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            free.used.push(slot_index(handle));
        }
        // After all locks: it may be large.
        drop(removed);
        Ok(())
    }

    /// Returns the slot of a handle. The handle is compared before the lock is tried, so that a freed one does not
    /// disturb the next object, and again after, in case another thread freed the object between.
    #[inline]
    fn slot(&self, handle: Handle) -> Result<&Slot<T>, Failure> {
        let index = slot_index(handle);
        let block = self.blocks.get(index / BLOCK).and_then(OnceLock::get);
        let slot = block.and_then(|slots| slots.get(index % BLOCK));
        match slot {
            Some(slot) if handle != 0 && slot.has(handle) => Ok(slot),
            _ => Err(foreign(handle, self.kind.name())),
        }
    }
}

impl<T> Slot<T> {
    fn new() -> Slot<T> {
        Slot { handle: AtomicU64::new(0), entry: RwLock::new(Entry { generation: 0, object: None }) }
    }

    #[inline]
    fn has(&self, handle: Handle) -> bool {
        self.handle.load(Ordering::Relaxed) == handle
    }
}

#[inline]
fn slot_index(handle: Handle) -> usize {
    (handle as u32) as usize
}

#[cold]
fn full(kind: Kind) -> Failure {
    let kind = kind.name();
    Failure::new(Code::Full, format_args!("expected a free slot for a {kind}, found none; free others"))
}

#[cold]
fn foreign(handle: Handle, expected: &str) -> Failure {
    let message = match Kind::of(handle) {
        _ if handle == 0 => format!("handle: expected a {expected}, found 0"),
        Some(kind) if kind.name() != expected => {
            format!("handle: expected a {expected}, found a {}", kind.name())
        }
        Some(_) => format!("handle: expected a {expected} that is not freed, found {handle:#x}, which is not in use"),
        None => format!("handle: expected a {expected}, found {handle:#x}, which rooflut has not returned"),
    };
    Failure::new(Code::Handle, message)
}

#[cold]
fn busy(kind: Kind) -> Failure {
    let kind = kind.name();
    Failure::new(
        Code::Busy,
        format_args!(
            "handle: expected a {kind} that no other thread uses, found one in use; use a lock, or one for each thread"
        ),
    )
}

#[cold]
fn poisoned(kind: Kind) -> Failure {
    let kind = kind.name();
    Failure::new(
        Code::Panic,
        format_args!("handle: expected a working {kind}, found one whose last call panicked; free it"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_handles_stay_invalid_when_their_slot_is_used_again() {
        let slab = Slab::new(Kind::Text);
        let first = slab.insert(1).unwrap();
        slab.remove(first).unwrap();
        let second = slab.insert(2).unwrap();
        assert_eq!(slot_index(first), slot_index(second));
        assert_ne!(first, second);
        assert!(slab.read(first, |_| Ok(())).is_err());
        assert!(slab.remove(first).is_err());
        assert_eq!(slab.read(second, |value| Ok(*value)).unwrap(), 2);
    }

    #[test]
    fn a_slot_is_not_used_after_its_last_generation() {
        let slab = Slab::new(Kind::Text);
        let first = slab.insert(()).unwrap();
        slab.slot(first).unwrap().entry.write().unwrap().generation = LAST_GENERATION - 1;
        slab.remove(first).unwrap();
        let last = slab.insert(()).unwrap();
        assert_eq!(Kind::of(last), Some(Kind::Text));
        assert_eq!(slot_index(last), slot_index(first));
        slab.remove(last).unwrap();
        assert_eq!(slot_index(slab.insert(()).unwrap()), slot_index(first) + 1);
    }

    #[test]
    fn slots_are_used_up_to_the_last_one() {
        let slab = Slab::new(Kind::Text);
        let handles: Vec<Handle> = (0..BLOCK * BLOCKS).map(|_| slab.insert(()).unwrap()).collect();
        assert_eq!(slab.insert(()).unwrap_err().code(), Code::Full);
        slab.remove(handles[5]).unwrap();
        assert_eq!(slot_index(slab.insert(()).unwrap()), 5);
        assert_eq!(slab.insert(()).unwrap_err().code(), Code::Full);
        let last = handles[BLOCK * BLOCKS - 1];
        assert!(slab.read(last, |()| Ok(())).is_ok());
        assert!(slab.read(last + 1, |()| Ok(())).is_err());
    }

    #[test]
    fn an_object_in_use_is_busy_and_a_panic_poisons_it_until_it_is_freed() {
        let slab = Slab::new(Kind::Server);
        let handle = slab.insert(0).unwrap();
        slab.write(handle, |_| {
            let inner = slab.write(handle, |_| Ok(())).unwrap_err();
            assert_eq!(inner.code(), Code::Busy);
            assert_eq!(slab.remove(handle).unwrap_err().code(), Code::Busy);
            Ok(())
        })
        .unwrap();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            slab.write(handle, |_: &mut i32| -> Result<(), Failure> { panic!("a defect") })
        }));
        assert!(panicked.is_err());
        assert_eq!(slab.write(handle, |_| Ok(())).unwrap_err().code(), Code::Panic);
        slab.remove(handle).unwrap();
        let next = slab.insert(1).unwrap();
        assert_eq!(slab.write(next, |value| Ok(*value)).unwrap(), 1);
    }
}
