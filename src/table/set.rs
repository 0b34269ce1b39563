//! A set of tables, measured on one GPU with one engine stack.

#[cfg(feature = "runtime-tables")]
use alloc::sync::Arc;
use core::fmt;

use rooflut_roofline::{Gpu, Text};

use super::Class;
use super::origin::Origin;
#[cfg(feature = "runtime-tables")]
use super::owned::OwnedSet;
use super::stored::{StaticSet, Stored};
use crate::constants::{BOUND_ERRORS, FAR_ERRORS, TRANSFERRED_ERRORS};

/// Measured tables of one GPU and engine stack.
///
/// A handle that is cheap to clone. It refers to a compiled set, or to a shared one that lives as long as any handle,
/// kernel or model made from it.
///
/// Built-in sets are statics ([`crate::table::sets`]). From a user's own measurements
#[cfg_attr(feature = "macros", doc = "[`tables!`](crate::tables)")]
#[cfg_attr(not(feature = "macros"), doc = "`tables!` (feature `macros`)")]
/// makes one at compile time and
#[cfg_attr(feature = "runtime-tables", doc = "[`try_load`](TableSet::try_load)")]
#[cfg_attr(not(feature = "runtime-tables"), doc = "`try_load` (feature `runtime-tables`)")]
/// one at run time. A set may lack an operation.
#[derive(Clone)]
pub struct TableSet {
    kept: Kept,
}

#[derive(Clone)]
enum Kept {
    Static(&'static StaticSet),
    #[cfg(feature = "runtime-tables")]
    Shared(Arc<OwnedSet>),
    #[cfg(feature = "runtime-tables")]
    Transferred(Arc<Transferred>),
}

/// The tables of a GPU on which no kernel was measured.
#[cfg(feature = "runtime-tables")]
pub(super) struct Transferred {
    pub(super) name: Text,
    pub(super) gpu: Gpu,
    pub(super) origin: Origin,
    /// The set that has the rows.
    pub(super) base: TableSet,
    /// Best class that an answer can have.
    pub(super) class: Class,
}

impl TableSet {
    /// Creates a handle to a compiled set.
    #[doc(hidden)]
    pub const fn from_generated(set: &'static StaticSet) -> TableSet {
        TableSet { kept: Kept::Static(set) }
    }

    /// Creates a handle to a set in shared memory.
    #[cfg(feature = "runtime-tables")]
    pub(super) fn shared(set: OwnedSet) -> TableSet {
        TableSet { kept: Kept::Shared(Arc::new(set)) }
    }

    /// Creates a handle to the tables of a GPU on which no kernel was measured.
    #[cfg(feature = "runtime-tables")]
    pub(super) fn of_other_gpu(set: Transferred) -> TableSet {
        TableSet { kept: Kept::Transferred(Arc::new(set)) }
    }

    /// Returns the name of the set, such as `h100`.
    pub fn name(&self) -> &str {
        match &self.kept {
            Kept::Static(set) => set.name,
            #[cfg(feature = "runtime-tables")]
            Kept::Shared(set) => &set.name,
            #[cfg(feature = "runtime-tables")]
            Kept::Transferred(set) => &set.name,
        }
    }

    /// Returns [`name`](Self::name) for errors, which outlive the borrow of the set.
    pub(crate) fn name_text(&self) -> Text {
        match &self.kept {
            Kept::Static(set) => Text::from_static(set.name),
            #[cfg(feature = "runtime-tables")]
            Kept::Shared(set) => set.name.clone(),
            #[cfg(feature = "runtime-tables")]
            Kept::Transferred(set) => set.name.clone(),
        }
    }

    /// Returns the GPU that the answers are of.
    pub fn gpu(&self) -> &Gpu {
        match &self.kept {
            Kept::Static(set) => set.gpu,
            #[cfg(feature = "runtime-tables")]
            Kept::Shared(set) => &set.gpu,
            #[cfg(feature = "runtime-tables")]
            Kept::Transferred(set) => &set.gpu,
        }
    }

    /// Returns the GPU on which the rows were measured.
    pub(crate) fn measured_gpu(&self) -> &Gpu {
        self.base().unwrap_or(self).gpu()
    }

    /// Returns the set whose rows answer for another GPU, or `None` if its GPU was measured, or nothing was.
    pub fn base(&self) -> Option<&TableSet> {
        #[cfg(feature = "runtime-tables")]
        if let Kept::Transferred(set) = &self.kept {
            return (set.class == Class::Transferred).then_some(&set.base);
        }
        None
    }

    /// Returns the best class that an answer of the set can have: `Measured`, or that of a set for a GPU on which no
    /// kernel was measured.
    pub fn class(&self) -> Class {
        #[cfg(feature = "runtime-tables")]
        if let Kept::Transferred(set) = &self.kept {
            return set.class;
        }
        Class::Measured
    }

    /// Returns the set of `errors.csv` whose errors lookups for a GPU have that was not measured, and the share of these
    /// that a step has; `None` for a measured GPU.
    pub(crate) fn unmeasured_errors(&self) -> Option<(&'static str, f64)> {
        match self.class() {
            Class::Measured => None,
            Class::Bound => Some(("bound", BOUND_ERRORS)),
            _ if self.gpu().is_alike(self.measured_gpu()) => Some(("transferred", TRANSFERRED_ERRORS)),
            _ => Some(("transferred-far", FAR_ERRORS)),
        }
    }

    /// Returns the source of the measurements.
    pub fn origin(&self) -> &Origin {
        match &self.kept {
            Kept::Static(set) => &set.origin,
            #[cfg(feature = "runtime-tables")]
            Kept::Shared(set) => &set.origin,
            #[cfg(feature = "runtime-tables")]
            Kept::Transferred(set) => &set.origin,
        }
    }

    /// Returns the versions of the engine whose rows the set has beside its own, such as `vllm-0.31`.
    pub fn versions(&self) -> impl Iterator<Item = &str> {
        (0..).map_while(|place| self.version_at(place)).map(|(name, _)| name)
    }

    /// Returns the set with the rows of one of [`versions`](Self::versions) in place of its own, where they differ; the
    /// set itself if it has no such rows.
    ///
    /// [`Deployment`](crate::Deployment) asks for those that its engine stack takes
    /// ([`EngineStack::table_version`](crate::engine::EngineStack::table_version)).
    #[must_use]
    pub fn version(&self, version: Option<&str>) -> TableSet {
        let mut versions = (0..).map_while(|place| self.version_at(place));
        let found = versions.find(|(name, _)| Some(*name) == version);
        found.map_or_else(|| self.clone(), |(_, set)| set)
    }

    fn version_at(&self, place: usize) -> Option<(&str, TableSet)> {
        match &self.kept {
            Kept::Static(set) => set.versions.get(place).map(|(name, set)| (*name, TableSet::from_generated(set))),
            #[cfg(feature = "runtime-tables")]
            Kept::Shared(set) => {
                let (name, set) = set.versions.get(place)?;
                Some((name.as_str(), TableSet { kept: Kept::Shared(Arc::clone(set)) }))
            }
            #[cfg(feature = "runtime-tables")]
            Kept::Transferred(set) => {
                let (version, base) = set.base.version_at(place)?;
                Some((version, base.transferred(set.name.clone(), set.gpu.clone())))
            }
        }
    }

    /// Returns what is stored of the table at this place.
    #[inline]
    pub(super) fn stored(&self, place: u16) -> Option<Stored<'_>> {
        match &self.kept {
            Kept::Static(set) => set.table(place),
            #[cfg(feature = "runtime-tables")]
            Kept::Shared(set) => set.table(place),
            #[cfg(feature = "runtime-tables")]
            Kept::Transferred(set) => set.base.stored(place),
        }
    }

    /// Returns the set, or the one that has its rows, if it is compiled in.
    #[inline]
    pub(super) fn compiled(&self) -> Option<&'static StaticSet> {
        match &self.kept {
            Kept::Static(set) => Some(set),
            #[cfg(feature = "runtime-tables")]
            Kept::Shared(_) => None,
            #[cfg(feature = "runtime-tables")]
            Kept::Transferred(set) => set.base.compiled(),
        }
    }
}

impl StaticSet {
    #[inline]
    pub(super) fn table(&'static self, place: u16) -> Option<Stored<'static>> {
        #[cfg(feature = "deferred-tables")]
        if !super::presence::is_present(self.name) {
            return None;
        }
        let table = self.tables.get(usize::from(place))?;
        Some(Stored {
            head: &table.head,
            shapes: table.shapes,
            entries: table.entries,
            latency_us: table.latency_us,
            ln_slowdown: table.ln_slowdown,
            axis_values: self.axis_values,
            axis_points: self.axis_points,
        })
    }
}

/// Handles are equal if they refer to the same set in memory.
impl PartialEq for TableSet {
    fn eq(&self, other: &TableSet) -> bool {
        match (&self.kept, &other.kept) {
            (Kept::Static(set), Kept::Static(other)) => core::ptr::eq(*set, *other),
            #[cfg(feature = "runtime-tables")]
            (Kept::Shared(set), Kept::Shared(other)) => Arc::ptr_eq(set, other),
            #[cfg(feature = "runtime-tables")]
            (Kept::Transferred(set), Kept::Transferred(other)) => Arc::ptr_eq(set, other),
            #[cfg(feature = "runtime-tables")]
            _ => false,
        }
    }
}

impl Eq for TableSet {}

impl fmt::Debug for TableSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TableSet").field(&self.name()).finish()
    }
}
