//! Measured GPUs predicted as if none of their kernels was measured.

use std::collections::BTreeMap;

use rayon::prelude::*;
use rooflut::hardware::OperationKind;
use rooflut::interval::Coverage;
use rooflut::model::{CATALOG, ModelSpec};
use rooflut::op::Kernel;
use rooflut::step::{Chunk, DecodeGroup, LatencyModel, Parallelism, RooflineModel, StepBatch, StepModel, StepOptions};
use rooflut::table::{TableSet, sets};
use rooflut_roofline::operation::Codes;

/// A GPU that is predicted as if it was not measured.
#[derive(Debug, Clone, Copy)]
pub struct Transfer {
    /// The set whose efficiencies are taken, or `None` for bounds.
    pub base: Option<&'static TableSet>,
    /// The set that is predicted.
    pub target: &'static TableSet,
}

/// A kernel or step with its prediction.
#[derive(Debug, Clone, Copy)]
pub struct Predicted<K> {
    /// Its kind.
    pub kind: K,
    /// ln(measured / predicted).
    pub ln_ratio: f64,
    /// Half width of the interval of the prediction, as a logarithm.
    pub half_width: f64,
}

impl<K> Predicted<K> {
    /// Returns whether the interval contains the measurement, which no lower end cut off at a bound excludes.
    pub fn is_covered(&self) -> bool {
        self.ln_ratio.abs() <= self.half_width
    }
}

/// Kinds of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StepKind {
    /// At most eight requests, one token each.
    FewDecode,
    /// More requests, one token each.
    ManyDecode,
    /// Prompts.
    Prompts,
}

impl StepKind {
    const ALL: [StepKind; 3] = [StepKind::FewDecode, StepKind::ManyDecode, StepKind::Prompts];

    fn name(self) -> &'static str {
        match self {
            StepKind::FewDecode => "steps of 1 and 8 decoding requests",
            StepKind::ManyDecode => "steps of 64 and 256 decoding requests",
            StepKind::Prompts => "steps of a prompt",
        }
    }
}

/// Requests and their KV lengths.
const DECODE: [(StepKind, u32, u32); 4] = [
    (StepKind::FewDecode, 1, 500),
    (StepKind::FewDecode, 8, 1_000),
    (StepKind::ManyDecode, 64, 1_000),
    (StepKind::ManyDecode, 256, 2_000),
];
/// Tokens of prompts.
const PROMPTS: [u32; 3] = [512, 2_048, 8_192];
/// Share of the memory that weights may take.
const WEIGHTS: f64 = 0.9;

impl Transfer {
    /// Transfers within an architecture.
    pub const NEAR: [Transfer; 2] = [Transfer::new(&sets::H100, &sets::H200), Transfer::new(&sets::B200, &sets::B300)];
    /// Transfers to another architecture. The links of `l40s-p2p` are those of the data sheet; the all-reduces of `l40s`
    /// are of a host whose GPUs have no peer-to-peer access.
    pub const FAR: [Transfer; 2] =
        [Transfer::new(&sets::H200, &sets::B200), Transfer::new(&sets::A100, &sets::L40S_P2P)];

    const fn new(base: &'static TableSet, target: &'static TableSet) -> Transfer {
        Transfer { base: Some(base), target }
    }

    /// Returns the bounds of every GPU.
    pub fn bounds() -> impl Iterator<Item = Transfer> {
        sets::ALL.into_iter().map(|target| Transfer { base: None, target })
    }

    /// Returns the predicted tables of the target.
    fn tables(&self) -> TableSet {
        let gpu = self.target.gpu().clone();
        match self.base {
            Some(base) => base.transferred("transferred", gpu),
            None => TableSet::bounds("bounds", gpu),
        }
    }

    /// Returns the rows of the target that the base can answer for; none for bounds, which are of kernels in steps.
    pub fn kernels(&self, coverage: Coverage) -> Vec<Predicted<OperationKind>> {
        let (set, has_base) = (self.tables(), self.base.is_some());
        let tables = self.target.tables().filter(|table| has_base && !self.shares(table.operation()));
        let rows = tables.flat_map(|table| table.rows());
        let predicted = rows.filter_map(|(kernel, latency_us)| {
            let kind = kernel.operation();
            let measured_s = f64::from(latency_us) * 1e-6;
            let found = Kernel::resolve(&set, kind, kernel.shape::<Codes>()).ok()?;
            let estimate = found.at_point(kernel.point().map(u64::from));
            let interval = estimate.interval(found.errors(), coverage);
            let half_width = (interval.high.0 / estimate.time.0).ln();
            Some(Predicted { kind, ln_ratio: (measured_s / estimate.time.0).ln(), half_width })
        });
        predicted.collect()
    }

    /// Returns whether the target has the rows of the base, as `b300` has the all-reduces of `b200`.
    fn shares(&self, operation: OperationKind) -> bool {
        let rows = |set: &TableSet| set.table(operation).map(|table| table.rows().collect::<Vec<_>>());
        self.base.is_some_and(|base| rows(base) == rows(self.target))
    }

    /// Returns steps of every model by name, over each number of GPUs whose memory holds it.
    pub fn steps(&self, coverage: Coverage) -> Vec<Predicted<StepKind>> {
        let set = self.tables();
        let mut options = StepOptions::default();
        // Both have the errors of the step model.
        options.constants = options.constants.with_step_error(0.0).with_other_step_error(0.0);
        let mut steps = Vec::new();
        for (spec, tp) in CATALOG.iter().flat_map(|known| [1, 2, 4, 8].map(|tp| (&known.spec, tp))) {
            let ranks = Parallelism::tensor(tp);
            if !holds(self.target, spec, tp) || spec.check_parallelism(ranks).is_err() {
                continue;
            }
            let model = |set| RooflineModel::try_new(spec, set, ranks, options);
            let (Ok(predicted), Ok(measured)) = (model(&set), model(self.target)) else {
                continue;
            };
            let mut add = |kind, batch: &StepBatch<'_>| {
                let (time, measured) = (predicted.step_time(batch), measured.total_time(batch));
                let [measured, high] = [measured, time.interval(coverage).high].map(|it| (it.0 / time.total().0).ln());
                steps.push(Predicted { kind, ln_ratio: measured, half_width: high });
            };
            for (kind, requests, kv_len) in DECODE {
                let decode = DecodeGroup::uniform(requests, kv_len);
                decode.iter().for_each(|group| add(kind, &StepBatch { prefill: &[], decode: &[*group] }));
            }
            for tokens in PROMPTS {
                let chunk = Chunk::prompt(tokens);
                chunk.iter().for_each(|chunk| add(StepKind::Prompts, &StepBatch { prefill: &[*chunk], decode: &[] }));
            }
        }
        steps
    }
}

fn holds(set: &TableSet, spec: &ModelSpec, tp: u32) -> bool {
    spec.weight_bytes() / f64::from(tp) <= WEIGHTS * set.gpu().mem_bytes as f64
}

/// Returns the errors of the transfers, and those of bounds, as the tables of `docs/hardware.md`.
pub fn transfers_markdown() -> String {
    let coverage = Coverage::default();
    let transfers: Vec<Transfer> = Transfer::NEAR.into_iter().chain(Transfer::FAR).collect();
    let found: Vec<_> =
        transfers.par_iter().map(|transfer| (transfer.kernels(coverage), transfer.steps(coverage))).collect();
    let names = transfers.iter().map(|transfer| {
        let base = transfer.base.map_or("none", TableSet::name);
        format!("{} from {base}", transfer.target.gpu().name)
    });
    let mut text = format!("| | {} |\n|---|---|---|---|---|\n", names.collect::<Vec<_>>().join(" | "));
    let mut row = |name: &str, cells: Vec<String>| text += &format!("| {name} | {} |\n", cells.join(" | "));
    for operation in OperationKind::ALL {
        let of = |(kernels, _): &(Vec<_>, _)| cell(kernels, |kind| kind == operation);
        row(&format!("`{operation}`"), found.iter().map(of).collect());
    }
    for kind in StepKind::ALL {
        row(kind.name(), found.iter().map(|(_, steps)| cell(steps, |of| of == kind)).collect());
    }
    row("all steps", found.iter().map(|(_, steps)| cell(steps, |_| true)).collect());
    let bounds: Vec<Transfer> = Transfer::bounds().collect();
    let bounds: Vec<_> = bounds.par_iter().flat_map_iter(|transfer| transfer.steps(coverage)).collect();
    text += "\n| | bounds of all sets |\n|---|---|\n";
    for kind in StepKind::ALL {
        text += &format!("| {} | {} |\n", kind.name(), cell(&bounds, |of| of == kind));
    }
    text + &format!("| all steps | {} |\n", cell(&bounds, |_| true))
}

/// Returns median and p95 of the errors of one kind, and how many its intervals cover, all in percent.
fn cell<K: Copy>(predicted: &[Predicted<K>], is_one: impl Fn(K) -> bool) -> String {
    let of_kind = || predicted.iter().filter(|predicted| is_one(predicted.kind));
    let mut errors: Vec<f64> = of_kind().map(|predicted| 100.0 * predicted.ln_ratio.exp_m1().abs()).collect();
    errors.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| errors.get((share * errors.len() as f64) as usize).copied().unwrap_or_default();
    let covered = of_kind().filter(|predicted| predicted.is_covered()).count();
    match errors.len() {
        0 => "-".to_owned(),
        n => format!("{:.1} / {:.0}, {:.0}", at(0.5), at(0.95), 100.0 * covered as f64 / n as f64),
    }
}

/// |ln(measured / predicted)| of kernels by operation.
pub(crate) type KernelErrors = BTreeMap<OperationKind, Vec<f64>>;

/// Returns the errors of kernels on GPUs that were not measured: the name of the group in `errors.csv`, the predicted
/// sets, and the errors.
pub(crate) fn unmeasured() -> [(&'static str, &'static str, KernelErrors); 3] {
    let transferred = |transfers: [Transfer; 2]| {
        let kernels = transfers.into_iter().flat_map(|transfer| transfer.kernels(Coverage::default()));
        by_operation(kernels.map(|kernel| (kernel.kind, kernel.ln_ratio)))
    };
    let bounds = sets::ALL.into_iter().flat_map(|set| {
        let rows = set.tables().flat_map(|table| table.rows());
        rows.filter_map(|(kernel, latency_us)| {
            let bound_s = kernel.work().bound_s(&set.gpu().rates(kernel.dtype())?);
            Some((kernel.operation(), (f64::from(latency_us) * 1e-6 / bound_s).ln()))
        })
    });
    [
        ("transferred", "h200 from h100 and b300 from b200", transferred(Transfer::NEAR)),
        ("transferred-far", "b200 from h200 and l40s from a100", transferred(Transfer::FAR)),
        ("bound", "all GPUs from their data sheets", by_operation(bounds)),
    ]
}

fn by_operation(ln_ratios: impl Iterator<Item = (OperationKind, f64)>) -> KernelErrors {
    let mut errors = KernelErrors::new();
    for (operation, ln_ratio) in ln_ratios {
        errors.entry(operation).or_default().push(ln_ratio.abs());
    }
    errors
}
