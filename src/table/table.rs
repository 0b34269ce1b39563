//! One table of a set, and the storage of a shape's points.

use core::fmt;
use core::marker::PhantomData;

use rooflut_roofline::operation::{Codes, key};
use rooflut_roofline::{Dtype, MeasuredKernel, OperationKind, Reference};

use super::stored::{Points, Stored};
use super::{Class, Curve, ErrorGroup, Grid, TableSet, error_groups};

/// All measured shapes of one operation of a set, borrowed from it.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    set: &'a TableSet,
    place: u16,
    stored: Stored<'a>,
}

impl TableSet {
    /// Returns the tables, in the order of their operations.
    ///
    /// ```
    /// use rooflut::table::sets;
    /// for table in sets::H100.tables() {
    ///     println!("{}: {} shapes", table.operation(), table.len());
    /// }
    /// ```
    pub fn tables(&self) -> impl Iterator<Item = Table<'_>> {
        (0..).map_while(|place| self.table_at(place))
    }

    /// Returns the table of an operation, or `None` if the set has none.
    pub fn table(&self, operation: OperationKind) -> Option<Table<'_>> {
        self.tables().find(|table| table.operation() == operation)
    }

    #[inline]
    pub(super) fn table_at(&self, place: u16) -> Option<Table<'_>> {
        Some(Table { set: self, place, stored: self.stored(place)? })
    }
}

impl<'a> Table<'a> {
    #[cfg(feature = "runtime-tables")]
    pub(super) fn set(&self) -> &'a TableSet {
        self.set
    }

    #[cfg(feature = "runtime-tables")]
    pub(super) fn stored(&self) -> &Stored<'a> {
        &self.stored
    }

    /// Returns the best class that an answer can have.
    pub(crate) fn class(&self) -> Class {
        self.set.class()
    }

    /// Returns the measured operation.
    pub fn operation(&self) -> OperationKind {
        self.stored.head.operation
    }

    /// Returns the time of the operation that neither FLOPs nor bytes explain (launch, ramp-up), microseconds.
    pub fn t0_us(&self) -> f64 {
        self.stored.head.timing.t0_us
    }

    /// Returns the time of the smallest call, microseconds.
    pub fn floor_us(&self) -> f64 {
        self.stored.head.floor_us
    }

    /// Returns the time of a byte found in the L2 cache relative to one from memory, as the benchmark measured it.
    pub fn hot_read(&self) -> f64 {
        self.stored.head.timing.hot_read
    }

    /// Returns the time of a wave of thread blocks, one per streaming multiprocessor, microseconds; 0 if the set has
    /// none.
    pub fn wave_us(&self) -> f64 {
        self.stored.head.timing.wave_us
    }

    /// Returns whether decode attention splits the KV entries of a request only where several query heads share a KV
    /// head.
    pub fn grouped_split(&self) -> bool {
        self.stored.head.timing.grouped_split
    }

    /// Returns the errors of lookups of measured shapes and of others, in a format.
    pub(crate) fn error_groups(&self, dtype: Dtype) -> [ErrorGroup; 2] {
        let groups = match self.set.unmeasured_errors() {
            None => self.stored.head.error_groups,
            Some((other, _)) => error_groups(other, self.operation()),
        };
        groups.get(dtype.code() as usize).copied().unwrap_or([ErrorGroup::UNKNOWN; 2])
    }

    /// Returns the number of measured shapes.
    pub fn len(&self) -> usize {
        self.stored.entries.len()
    }

    /// Returns whether there are no shapes. Tables of a checked set have at least one.
    pub fn is_empty(&self) -> bool {
        self.stored.entries.is_empty()
    }

    /// Returns the reference of a kernel of `dtype`, or `None` if the GPU has no peak for it.
    pub fn reference(&self, dtype: Dtype) -> Option<Reference> {
        let gpu = self.set.gpu();
        let rates = gpu.rates(dtype)?;
        Some(Reference::new(gpu, rates, self.stored.head.timing))
    }

    /// Returns the measured rows with their latencies in microseconds, in ascending order.
    pub fn rows(self) -> impl Iterator<Item = (MeasuredKernel, f32)> + use<'a> {
        const ONE: &[u32] = &[1];
        let operation = self.operation();
        let entries = self.typed::<Codes, Points<'a>>().entries();
        entries.flat_map(move |Entry { shape, points, .. }| {
            let [first, second] = points.axes.map(|axis| axis.values());
            let second = if second.is_empty() { ONE } else { second };
            let pairs = first.iter().flat_map(|x| second.iter().map(|y| [*x, *y]));
            let kernels = pairs.map(move |point| MeasuredKernel::new(operation, shape, point));
            let rows = kernels.zip(points.latency_us.iter().copied());
            rows.filter(|(_, latency_us)| !latency_us.is_nan())
        })
    }

    /// Returns the table with shapes and points of the operation's types: [`Curve`] for one axis, [`Grid`] for two.
    /// [`Codes`] are valid shapes for all operations.
    pub fn typed<S, P>(self) -> KernelTable<'a, S, P> {
        KernelTable { table: self, typed: PhantomData }
    }
}

/// The measured shapes and points of one operation, in its types.
pub struct KernelTable<'a, S, P> {
    table: Table<'a>,
    typed: PhantomData<fn() -> (S, P)>,
}

/// The measured points of one shape.
#[derive(Debug, Clone, Copy)]
pub struct Entry<S, P> {
    /// The measured shape.
    pub shape: S,
    /// Latencies over the axes of the operation.
    pub points: P,
    place: usize,
}

impl<S, P> Clone for KernelTable<'_, S, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S, P> Copy for KernelTable<'_, S, P> {}

impl<'a, S, P> core::ops::Deref for KernelTable<'a, S, P> {
    type Target = Table<'a>;

    fn deref(&self) -> &Table<'a> {
        &self.table
    }
}

impl<'a, S, P> KernelTable<'a, S, P>
where
    S: From<Codes> + Into<Codes> + Copy,
    P: From<Points<'a>>,
{
    /// Returns the measured shapes with their points, in ascending order.
    pub fn entries(self) -> impl Iterator<Item = Entry<S, P>> + Clone + use<'a, S, P> {
        (0..self.len()).map(move |place| self.entry(place))
    }

    /// Returns the measured shapes, in ascending order.
    pub(crate) fn shapes(self) -> impl Iterator<Item = S> + Clone + use<'a, S, P> {
        (0..self.len()).map(move |place| S::from(self.stored.shape(place)))
    }

    /// Returns the measured points of exactly this shape. Costs one perfect-hash lookup, or a binary search in a
    /// table created at run time.
    pub fn find(self, shape: &S) -> Option<Entry<S, P>> {
        let stored = &self.table.stored;
        let codes: Codes = (*shape).into();
        let width = stored.head.operation.shape_columns();
        let codes = codes.get(..width).unwrap_or_default();
        let place = stored.head.index.place(key(codes))?;
        (stored.codes(place) == codes).then(|| self.entry(place))
    }

    /// Returns the points of an entry of this table in a form that outlives the borrow of the set.
    pub(crate) fn hold(self, entry: &Entry<S, P>) -> Held {
        let place = entry.place;
        match self.set.compiled().and_then(|set| set.table(self.place)) {
            Some(stored) => Held::Static(stored.points(place)),
            #[cfg(feature = "runtime-tables")]
            None => Held::Shared { set: self.set.clone(), table: self.place, place },
            #[cfg(not(feature = "runtime-tables"))]
            None => Held::Static(Points::NONE),
        }
    }

    fn entry(self, place: usize) -> Entry<S, P> {
        Entry { shape: S::from(self.stored.shape(place)), points: P::from(self.stored.points(place)), place }
    }
}

/// The points of a shape, with the set that they belong to.
#[derive(Clone)]
pub(crate) enum Held {
    /// Points that are compiled in.
    Static(Points<'static>),
    /// Points at `place` in a table of a shared set.
    #[cfg(feature = "runtime-tables")]
    Shared { set: TableSet, table: u16, place: usize },
}

impl Held {
    /// Returns the points of an operation with one axis.
    #[inline]
    pub(crate) fn curve(&self) -> Curve<'_> {
        self.read()
    }

    /// Returns the points of an operation with two axes.
    #[inline]
    pub(crate) fn grid(&self) -> Grid<'_> {
        self.read()
    }

    /// Returns the points as a curve or grid. Each arm builds it separately: building a common [`Points`] first would
    /// copy compiled points to the stack, 30 instructions of a lookup.
    #[inline]
    fn read<'a, P: From<Points<'a>>>(&'a self) -> P {
        match self {
            Held::Static(points) => P::from(*points),
            #[cfg(feature = "runtime-tables")]
            Held::Shared { set, table, place } => P::from(shared_points(set, *table, *place)),
        }
    }
}

#[cfg(feature = "runtime-tables")]
#[inline(never)] // Keeps the code that reads compiled points short.
fn shared_points(set: &TableSet, table: u16, place: usize) -> Points<'_> {
    let table = set.table_at(table);
    table.map_or(Points::NONE, |table| table.stored.points(place))
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.read::<Points<'_>>().fmt(f)
    }
}

impl fmt::Debug for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("operation", &self.operation())
            .field("shapes", &self.len())
            .finish_non_exhaustive()
    }
}

impl<S, P> fmt::Debug for KernelTable<'_, S, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.table.fmt(f)
    }
}
