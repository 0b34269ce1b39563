//! Collectives over the GPUs of a node, as measured.

use super::estimate::Estimate;
use super::found::Found;
use crate::error::ResolveError;
use crate::hardware::operation::Codes;
use crate::hardware::{AllReduceShape, Dtype, GatherShape, OperationKind, Reference, Work};
use crate::math::{exp_short, ln_of_normal};
use crate::table::{Class, Curve, ErrorGroup, KernelTable, Table, TableSet};

/// A resolved collective over all ranks of the shape `S`.
///
/// A number of ranks between measured ones takes the efficiency of the next larger one (`Transferred`).
#[derive(Debug, Clone)]
pub struct Collective<S> {
    /// Share of the message that passes the link of a rank.
    link_share: f64,
    shape: S,
    found: Found<S>,
}

/// A resolved all-reduce.
///
/// ```
/// use rooflut::hardware::AllReduceShape;
/// use rooflut::op::AllReduce;
/// use rooflut::table::sets;
///
/// let all_reduce = AllReduce::resolve(&sets::H100, AllReduceShape { ranks: 4 })?;
/// assert!(all_reduce.at(1 << 20).time.us() > 1.0);
/// # Ok::<(), rooflut::ResolveError>(())
/// ```
pub type AllReduce = Collective<AllReduceShape>;

/// A resolved all-gather or reduce-scatter.
///
/// ```
/// use rooflut::hardware::GatherShape;
/// use rooflut::op::Gather;
/// use rooflut::table::sets;
///
/// let all_gather = Gather::all_gather(&sets::H100, GatherShape { ranks: 8 })?;
/// assert!(all_gather.at(1 << 20).time.us() > 1.0);
/// # Ok::<(), rooflut::ResolveError>(())
/// ```
pub type Gather = Collective<GatherShape>;

impl TableSet {
    /// Returns the all-reduces by ranks over message bytes, or `None` if the set has none.
    pub fn all_reduce(&self) -> Option<KernelTable<'_, AllReduceShape, Curve<'_>>> {
        self.table(OperationKind::AllReduce).map(Table::typed)
    }
}

impl AllReduce {
    /// Looks up the number of ranks in `set`.
    ///
    /// # Errors
    /// The set has no all-reduce table, or none over this many ranks or more; fewer than two ranks.
    pub fn resolve(set: &TableSet, shape: AllReduceShape) -> Result<AllReduce, ResolveError> {
        let link_share = shape.work(1.0).link_bytes;
        Collective::find(set, OperationKind::AllReduce, shape, link_share)
    }
}

impl Gather {
    /// Looks up an all-gather over this number of ranks in `set`; its message is the gathered one.
    ///
    /// # Errors
    /// The set has no table of all-gathers, or none over this many ranks or more; fewer than two ranks.
    pub fn all_gather(set: &TableSet, shape: GatherShape) -> Result<Gather, ResolveError> {
        let link_share = shape.work(1.0).link_bytes;
        Collective::find(set, OperationKind::AllGather, shape, link_share)
    }

    /// Looks up a reduce-scatter over this number of ranks in `set`; the message is the whole message before
    /// scattering.
    ///
    /// # Errors
    /// As [`all_gather`](Self::all_gather).
    pub fn reduce_scatter(set: &TableSet, shape: GatherShape) -> Result<Gather, ResolveError> {
        let link_share = shape.work(1.0).link_bytes;
        Collective::find(set, OperationKind::ReduceScatter, shape, link_share)
    }
}

impl<S: Copy> Collective<S> {
    /// Returns the time of a message of `bytes` (the whole message, not the part of a rank); 0 is treated as 1.
    pub fn at(&self, bytes: u64) -> Estimate {
        self.answer((bytes as f64).max(1.0))
    }

    /// Returns the matched measured number of ranks.
    pub fn matched(&self) -> S {
        self.found.matched
    }

    /// Returns the matched measured points.
    pub fn curve(&self) -> Curve<'_> {
        self.found.points.curve()
    }

    /// Returns the errors of lookups like this one; see [`Estimate::interval`].
    pub fn errors(&self) -> ErrorGroup {
        self.found.errors
    }

    /// Returns the best class that an answer can have.
    pub fn class(&self) -> Class {
        self.found.class
    }

    /// Returns [`at`](Self::at) for a message size of at least one byte.
    pub(crate) fn answer(&self, bytes: f64) -> Estimate {
        let reading = self.curve().read(bytes, ln_of_normal(bytes));
        let reference = self.reference();
        let bound = self.work(bytes).bound_s(&reference.rates);
        let seconds = (reference.t0_s + bound) * exp_short(reading.ln_slowdown);
        self.found.answer(reading, seconds, 0.0)
    }

    /// Returns the requested number of ranks.
    pub(crate) fn shape(&self) -> S {
        self.shape
    }

    /// Returns the work of one rank for a message of `bytes`.
    pub(crate) fn work(&self, bytes: f64) -> Work {
        Work { flops: 0.0, bytes: 0.0, link_bytes: bytes * self.link_share }
    }

    /// Returns the reference of the kernel.
    pub(crate) fn reference(&self) -> &Reference {
        &self.found.reference
    }
}

impl<S: From<Codes> + Into<Codes> + Copy> Collective<S> {
    fn find(
        set: &TableSet,
        operation: OperationKind,
        shape: S,
        link_share: f64,
    ) -> Result<Collective<S>, ResolveError> {
        let table = set.required(operation)?.typed::<S, Curve<'_>>();
        let operation = operation.name();
        // The shape of each collective is its number of ranks.
        let ranks_of = |shape: S| {
            let [ranks, ..]: Codes = shape.into();
            ranks
        };
        let ranks = ranks_of(shape);
        if ranks < 2 {
            return Err(ResolveError::TooFewRanks { operation, ranks });
        }
        let larger = || table.entries().find(|entry| ranks_of(entry.shape) > ranks);
        let too_many = || ResolveError::TooManyRanks {
            set: set.clone(),
            operation,
            ranks,
            most: table.entries().map(|entry| ranks_of(entry.shape)).max().unwrap_or(1),
        };
        let entry = table.find(&shape).or_else(larger).ok_or_else(too_many)?;
        let class = if ranks_of(entry.shape) == ranks { Class::Measured } else { Class::Transferred };
        let found = Found::try_new(set, table, &entry, Dtype::Bf16, class)?;
        Ok(Collective { link_share, shape, found })
    }
}
