//! Table sets of GPUs on which no kernel was measured.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use rooflut_roofline::operation::{Codes, key};
use rooflut_roofline::{Dtype, Gpu, OperationKind, Text, Timing, axis_points};

use super::owned::{OwnedSet, OwnedTable};
use super::set::Transferred;
use super::stored::{EntryPlace, TableHead};
use super::{Class, Entry, ErrorGroup, Index, Origin, Points, TableSet, sets};

/// Logarithm of a slowdown that leaves nothing of a reference time, so that the bound of a kernel is longer.
const LN_NOTHING: f32 = -100.0;
/// A coordinate before which all queries lie, so that no bound counts as inside.
const BEYOND: u32 = u32::MAX;

impl TableSet {
    /// Returns a set called `name` for a GPU on which no kernel was measured. A kernel there has the slowdown that it
    /// has in this set: its time over the reference time of the roofline (`Transferred`).
    ///
    /// Reference times consist of a launch time, which stays, of math at the peak and of traffic at the bandwidth of
    /// memory or link. So no kernel takes longer on a GPU with a higher peak or bandwidth. The
    /// [`rows`](super::Table::rows) are those of this set.
    ///
    /// ```
    /// use rooflut::hardware::{Dtype, GemmShape};
    /// use rooflut::op::Gemm;
    /// use rooflut::table::{Class, sets};
    ///
    /// let mut faster = sets::H100.gpu().clone();
    /// faster.mem_bw_bytes_per_s *= 2.0;
    /// let faster = sets::H100.transferred("faster", faster);
    /// let shape = GemmShape { dtype: Dtype::Bf16, k: 8192, n: 8192 };
    /// let [slow, fast] = [&sets::H100, &faster].map(|set| Gemm::resolve(set, shape).map(|gemm| gemm.at(1)));
    /// let (slow, fast) = (slow?, fast?);
    /// assert_eq!(fast.provenance, Class::Transferred.inside());
    /// assert!(0.5 * slow.time.0 < fast.time.0 && fast.time.0 < 0.6 * slow.time.0);
    /// # Ok::<(), rooflut::ResolveError>(())
    /// ```
    #[must_use]
    pub fn transferred(&self, name: impl Into<Text>, gpu: Gpu) -> TableSet {
        let (base, mut origin) = (self.clone(), self.origin().clone());
        origin.engine = format!("efficiencies of {}: {}", self.name(), origin.engine.as_str()).into();
        TableSet::of_other_gpu(Transferred { name: name.into(), gpu, origin, base, class: Class::Transferred })
    }

    /// Returns a set called `name` for a GPU on which no kernel was measured, without efficiencies: in a step, each
    /// kernel that some built-in set has takes its roofline bound (`Bound`), FLOPs at the peak or bytes at the bandwidth
    /// of memory or link, at the share of these that the engine's constants assume.
    ///
    /// Resolved kernels alone answer with the time of their FLOPs.
    #[must_use]
    pub fn bounds(name: impl Into<Text>, gpu: Gpu) -> TableSet {
        let (name, class) = (name.into(), Class::Bound);
        let texts = ["roofline bounds", "none", "the data sheet", "no measurement", ""];
        let origin = Origin::from_generated(texts);
        let axis = [BEYOND];
        let base = TableSet::shared(OwnedSet {
            name: name.clone(),
            gpu: gpu.clone(),
            origin: origin.clone(),
            axis_values: axis.to_vec(),
            axis_points: axis_points(&axis).collect(),
            tables: OperationKind::ALL.into_iter().filter_map(unmeasured).collect(),
            versions: Vec::new(),
        });
        TableSet::of_other_gpu(Transferred { name, gpu, origin, base, class })
    }
}

/// Returns a table of all shapes of an operation in the built-in sets, at a point that no query reaches, or `None` if
/// there are no shapes.
fn unmeasured(operation: OperationKind) -> Option<OwnedTable> {
    let tables = sets::ALL.into_iter().filter_map(|set| set.table(operation));
    let entries = tables.flat_map(|table| table.typed::<Codes, Points<'_>>().entries());
    let shapes: BTreeSet<Codes> = entries.map(|Entry { shape, .. }| shape).collect();
    let (width, count) = (operation.shape_columns(), shapes.len());
    let codes: Vec<u32> = shapes.into_iter().flat_map(|shape| shape.into_iter().take(width)).collect();
    let second = u32::from(operation.declared().axes.len() > 1);
    let place = |start| EntryPlace::from_generated([(0, 1), (0, second)], start);
    let head = TableHead {
        operation,
        timing: Timing { t0_us: 0.0, hot_read: 1.0, wave_us: 0.0, grouped_split: false },
        floor_us: 0.0,
        error_groups: [[ErrorGroup::UNKNOWN; 2]; Dtype::ALL.len()],
        index: Index::sorted(codes.chunks(width).map(key)),
    };
    (count > 0).then(|| OwnedTable {
        head,
        shapes: codes,
        entries: (0..).take(count).map(place).collect(),
        latency_us: vec![f32::NAN; count],
        ln_slowdown: vec![LN_NOTHING; count],
    })
}
