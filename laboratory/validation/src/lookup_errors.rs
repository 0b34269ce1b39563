//! Errors of lookups: quantiles for `bench_data/errors.csv`, and how many left-out rows they cover.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use rooflut::hardware::{Dtype, OperationKind};
use rooflut::interval::Coverage;
use rooflut::table::{Extent, TableSet, sets};
use rooflut_predecessors::leave_one_out::{Residual, residuals};
use rooflut_roofline::operation::Codes;

use crate::transfers::unmeasured;

/// The set whose errors stand for those of others. It has the most rows, and servers were compared with it.
const REFERENCE: &TableSet = &sets::H100;
/// Fewer rows do not show where 95 % of them lie.
const LEAST_ROWS: usize = 20;
const ANY: &str = "any";
/// Operations whose errors say nothing about other kernels: collectives over unmeasured numbers of ranks, prefill of
/// sparse latent attention, which has another kernel below 32 heads with fp8 entries, and prefill over compressed keys,
/// which was measured with three numbers of heads.
const APART: [OperationKind; 4] = [
    OperationKind::AllGather,
    OperationKind::ReduceScatter,
    OperationKind::DsaPrefill,
    OperationKind::CompressedPrefill,
];
const LEVELS: [f64; 3] = [0.5, 0.8, 0.95];

/// Lookups with about the same errors, as rows of `errors.csv` name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    operation: OperationKind,
    dtype: Dtype,
    transferred: bool,
}

/// |ln(measured / predicted)| of rows.
type Errors = BTreeMap<(Group, Extent), Vec<f64>>;

/// Returns the contents of `bench_data/errors.csv`: quantiles of the errors on left-out rows of the built-in sets.
///
/// A set with fewer than 20 left-out rows of a kind has the widest errors of the operation in the set `h100`, of the
/// same kind if that has enough rows; so have all other sets, in the rows `other`. An operation without rows of its own
/// has the widest errors of all other operations, except the operations in `APART`. The rows `transferred`,
/// `transferred-far` and `bound` are for GPUs on which no kernel was measured.
pub fn lookup_errors_csv() -> String {
    let mut csv = "set,operation,dtype,shape".to_owned();
    for extent in Extent::ALL {
        let columns = ["set", "rows", "q50", "q80", "q95"];
        csv += &columns.map(|column| format!(",{extent}_{column}")).concat();
    }
    csv.push('\n');
    let reference = Reference(errors(REFERENCE));
    let kinds: BTreeSet<OperationKind> = reference.0.keys().map(|(group, _)| group.operation).collect();
    let mut line = |key: [&str; 4], quantiles: [Quantiles; 2]| {
        let [set, operation, dtype, shape] = key;
        let quantiles = quantiles.map(|found| found.to_string()).concat();
        let _ = writeln!(csv, "{set},{operation},{dtype},{shape}{quantiles}");
    };
    let widest = reference.widest(|(group, _)| !APART.contains(&group.operation));
    line(["other", ANY, ANY, ANY], [widest; 2]);
    for kind in kinds {
        let widest = reference.widest(|(group, _)| group.operation == kind);
        line(["other", kind.name(), ANY, ANY], [widest; 2]);
    }
    for (group, of, errors) in unmeasured() {
        for (kind, errors) in errors {
            line([group, kind.name(), ANY, ANY], [Quantiles::of(of, &errors); 2]);
        }
    }
    for set in sets::ALL {
        let errors = errors(set);
        let groups: BTreeSet<Group> = errors.keys().map(|(group, _)| *group).collect();
        for group in groups {
            let quantiles = Extent::ALL.map(|extent| {
                let own = errors.get(&(group, extent)).filter(|errors| errors.len() >= LEAST_ROWS);
                match own {
                    Some(own) => Quantiles::of(set.name(), own),
                    None => reference.like(group, extent),
                }
            });
            let shape = if group.transferred { "transferred" } else { "measured" };
            line([set.name(), group.operation.name(), group.dtype.name(), shape], quantiles);
        }
    }
    csv
}

/// Number of parts of the shapes of a set in [`lookup_coverage`].
const FOLDS: usize = 5;

/// The left-out rows of an operation, and how many lie within the intervals of their predictions.
#[derive(Debug, Clone, PartialEq)]
pub struct LookupCoverage {
    /// The operation.
    pub operation: OperationKind,
    /// Number of rows.
    pub n: usize,
    /// Percentage of rows within the interval, by nominal coverage.
    pub covered: Vec<f64>,
}

/// Returns how many of the left-out rows of `set` lie within the intervals of each of the `nominal` coverages, by
/// operation, without latent and block-sparse attention, that over compressed keys, gated delta nets, hyper-connections
/// and exchanges between ranks. The shapes are divided into five parts; the errors of four parts make the intervals of the fifth.
///
/// Kinds of lookups with fewer than 20 rows in these four are left out. Takes a tenth of a second.
pub fn lookup_coverage(set: &TableSet, nominal: &[Coverage]) -> Vec<LookupCoverage> {
    let mut rows: BTreeMap<(Group, Extent), Vec<(Codes, f64)>> = BTreeMap::new();
    let layers = [
        OperationKind::MlaPrefill,
        OperationKind::MlaDecode,
        OperationKind::DsaDecode,
        OperationKind::DeltaPrefill,
        OperationKind::DeltaDecode,
        OperationKind::CompressedDecode,
        OperationKind::MsaPrefill,
        OperationKind::MsaDecode,
        OperationKind::HyperConnection,
    ];
    let is_left_out = |kind| layers.contains(&kind) || APART.contains(&kind);
    let kernels = compared(set).filter(|residual| !is_left_out(residual.kernel.operation()));
    for residual in kernels {
        let key = (Group::of(&residual), residual.extent);
        let row = (residual.kernel.shape(), residual.ln_ratio.abs());
        rows.entry(key).or_default().push(row);
    }
    let mut counts: BTreeMap<OperationKind, (usize, Vec<usize>)> = BTreeMap::new();
    for ((group, _), rows) in rows {
        let shapes: BTreeSet<Codes> = rows.iter().map(|(shape, _)| *shape).collect();
        let fold = |shape: &Codes| shapes.range(..*shape).count() % FOLDS;
        for part in 0..FOLDS {
            let (own, others): (Vec<_>, Vec<_>) = rows.iter().partition(|(shape, _)| fold(shape) == part);
            if others.len() < LEAST_ROWS {
                continue;
            }
            let others: Vec<f64> = others.iter().map(|(_, error)| *error).collect();
            let quantiles = Quantiles::of(set.name(), &others).at.map(|at| at as f32);
            let (n, within) = counts.entry(group.operation).or_default();
            *n += own.len();
            within.resize(nominal.len(), 0);
            for (within, coverage) in within.iter_mut().zip(nominal) {
                let half_width = coverage.quantile(quantiles);
                *within += own.iter().filter(|(_, error)| *error <= half_width).count();
            }
        }
    }
    let percent = |within: usize, n: usize| 100.0 * within as f64 / n.max(1) as f64;
    let counts = counts.into_iter();
    counts
        .map(|(operation, (n, within))| LookupCoverage {
            operation,
            n,
            covered: within.into_iter().map(|count| percent(count, n)).collect(),
        })
        .collect()
}

/// Returns the errors on the left-out rows of `set`.
fn errors(set: &TableSet) -> Errors {
    let mut errors = Errors::new();
    for residual in compared(set) {
        let key = (Group::of(&residual), residual.extent);
        errors.entry(key).or_default().push(residual.ln_ratio.abs());
    }
    errors
}

/// Returns the errors on the left-out rows of `set`, but for those of attention within windows, which has the widest
/// errors of all operations.
fn compared(set: &TableSet) -> impl Iterator<Item = Residual> {
    let others = [OperationKind::WindowPrefill, OperationKind::WindowDecode];
    let all = residuals(set).into_iter();
    all.filter(move |residual| !others.contains(&residual.kernel.operation()))
}

impl Group {
    fn of(residual: &Residual) -> Group {
        Group {
            operation: residual.kernel.operation(),
            dtype: residual.kernel.dtype(),
            transferred: residual.transferred,
        }
    }
}

/// Errors of the reference set.
struct Reference(Errors);

impl Reference {
    /// Returns the widest errors of a kind of lookup: of any format, or else of any lookup of the operation.
    fn like(&self, group: Group, extent: Extent) -> Quantiles<'static> {
        let alike = |(other, other_extent): &(Group, Extent)| {
            other.operation == group.operation && other.transferred == group.transferred && *other_extent == extent
        };
        let alike = self.widest(alike);
        match alike.rows {
            0 => self.widest(|(other, _)| other.operation == group.operation),
            _ => alike,
        }
    }

    /// Returns the widest of the wanted errors that have enough rows, level by level.
    fn widest(&self, wanted: impl Fn(&(Group, Extent)) -> bool) -> Quantiles<'static> {
        let wanted = self.0.iter().filter(|(key, _)| wanted(key));
        let enough = wanted.filter(|(_, errors)| errors.len() >= LEAST_ROWS);
        let none = Quantiles { set: REFERENCE.name(), rows: 0, at: [0.0; 3] };
        enough.fold(none, |widest, (_, errors)| {
            let found = Quantiles::of(REFERENCE.name(), errors);
            let mut at = widest.at;
            for (widest, found) in at.iter_mut().zip(found.at) {
                *widest = widest.max(found);
            }
            Quantiles { rows: widest.rows + found.rows, at, ..widest }
        })
    }
}

/// Quantiles of the errors of a number of rows, and their set.
#[derive(Debug, Clone, Copy)]
struct Quantiles<'s> {
    set: &'s str,
    rows: usize,
    at: [f64; 3],
}

impl<'s> Quantiles<'s> {
    fn of(set: &'s str, errors: &[f64]) -> Quantiles<'s> {
        let mut sorted = errors.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        Quantiles { set, rows: errors.len(), at: LEVELS.map(|level| conformal_quantile(&sorted, level)) }
    }
}

impl std::fmt::Display for Quantiles<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Quantiles { set, rows, at } = self;
        write!(f, ",{set},{rows}")?;
        at.iter().try_for_each(|quantile| write!(f, ",{quantile:.4}"))
    }
}

/// Returns the error that `level` of further errors stay below, from `sorted` ones: that of rank level (n + 1), rounded
/// up, from 1.
///
/// Source: J. Lei et al., "Distribution-free predictive inference for regression" (2018), split conformal.
fn conformal_quantile(sorted: &[f64], level: f64) -> f64 {
    let rank = (level * (sorted.len() + 1) as f64).ceil() as usize;
    let place = rank.clamp(1, sorted.len().max(1)) - 1;
    sorted.get(place).copied().unwrap_or_default()
}
