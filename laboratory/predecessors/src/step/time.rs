//! Answers of the predecessors' models.

use rooflut::table::{Class, Provenance};
use rooflut::units::Seconds;

/// A part of a step, in the terms of the originals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum CompatPart {
    /// InferSim: attention core of prefill.
    PrefillAttention,
    /// InferSim: attention core of decode.
    DecodeAttention,
    /// InferSim: QKV and output projections.
    Projections,
    /// InferSim: FFN, or experts.
    Ffn,
    /// InferSim: exchanges between ranks.
    Communication,
    /// BLIS and calibrated: FLOPs of prefill.
    PrefillCompute,
    /// BLIS and calibrated: memory traffic of prefill.
    PrefillMemory,
    /// BLIS and calibrated: FLOPs of decode.
    DecodeCompute,
    /// BLIS and calibrated: memory traffic of decode.
    DecodeMemory,
    /// Calibrated: all-reduces.
    AllReduce,
    /// All: scheduling and launches on the CPU.
    Overhead,
}

impl CompatPart {
    /// All parts, in order.
    pub const ALL: [CompatPart; 11] = [
        CompatPart::PrefillAttention,
        CompatPart::DecodeAttention,
        CompatPart::Projections,
        CompatPart::Ffn,
        CompatPart::Communication,
        CompatPart::PrefillCompute,
        CompatPart::PrefillMemory,
        CompatPart::DecodeCompute,
        CompatPart::DecodeMemory,
        CompatPart::AllReduce,
        CompatPart::Overhead,
    ];

    /// Returns the name of the part.
    pub const fn name(self) -> &'static str {
        match self {
            CompatPart::PrefillAttention => "prefill_attention",
            CompatPart::DecodeAttention => "decode_attention",
            CompatPart::Projections => "projections",
            CompatPart::Ffn => "ffn",
            CompatPart::Communication => "communication",
            CompatPart::PrefillCompute => "prefill_compute",
            CompatPart::PrefillMemory => "prefill_memory",
            CompatPart::DecodeCompute => "decode_compute",
            CompatPart::DecodeMemory => "decode_memory",
            CompatPart::AllReduce => "all_reduce",
            CompatPart::Overhead => "overhead",
        }
    }
}

/// The time of one step in a predecessor's model.
///
/// Each model combines the parts into the total by its own rule: [`InferSim`](super::InferSim) adds them,
/// [`Blis`](super::Blis) and [`Calibrated`](super::Calibrated) take the larger of compute and memory of each phase
/// and then combine the phases.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompatTime {
    parts: [Option<Seconds>; CompatPart::ALL.len()],
    total: Seconds,
    provenance: Provenance,
}

impl CompatTime {
    /// An empty step.
    pub(super) const ZERO: CompatTime =
        CompatTime { parts: [None; CompatPart::ALL.len()], total: Seconds::ZERO, provenance: Class::Measured.inside() };

    /// Returns the time of the whole step.
    pub fn total(&self) -> Seconds {
        self.total
    }

    /// Returns the nonzero parts, in the order of [`CompatPart::ALL`].
    pub fn parts(&self) -> impl Iterator<Item = (CompatPart, Seconds)> + '_ {
        let slots = CompatPart::ALL.into_iter().zip(self.parts);
        slots.filter_map(|(part, slot)| slot.map(|time| (part, time)))
    }

    /// Returns the time of `part`, zero if the step has none.
    pub fn part(&self, part: CompatPart) -> Seconds {
        let slot = self.parts.get(part as usize).copied().flatten();
        slot.unwrap_or(Seconds::ZERO)
    }

    /// Returns the worst provenance of all MFUs used; `Bound` for a default.
    pub fn provenance(&self) -> Provenance {
        self.provenance
    }

    /// Adds time to a part; the total does not change.
    pub(super) fn add(&mut self, part: CompatPart, time_s: f64, provenance: Provenance) {
        if let Some(slot) = self.parts.get_mut(part as usize) {
            *slot = Some(slot.unwrap_or(Seconds::ZERO) + Seconds(time_s));
        }
        self.provenance = self.provenance.worst(provenance);
    }

    /// Sets the total to the sum of the parts.
    pub(super) fn summed(self) -> CompatTime {
        let total = self.parts().map(|(_, time)| time).sum();
        CompatTime { total, ..self }
    }

    /// Sets the total, rounded to whole microseconds, halves up.
    pub(super) fn rounded(self, total_us: f64) -> CompatTime {
        // A cast from float truncates, so adding a half rounds.
        let total = Seconds::from_us((total_us + 0.5) as u64 as f64);
        CompatTime { total, ..self }
    }
}
