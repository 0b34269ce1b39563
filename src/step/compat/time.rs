//! The answer of a predecessor's model.

use crate::table::{Class, Provenance};
use crate::units::Seconds;

/// A part of a step, in the words of the originals.
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

crate::names!(CompatPart {
    PrefillAttention => "prefill_attention",
    DecodeAttention => "decode_attention",
    Projections => "projections",
    Ffn => "ffn",
    Communication => "communication",
    PrefillCompute => "prefill_compute",
    PrefillMemory => "prefill_memory",
    DecodeCompute => "decode_compute",
    DecodeMemory => "decode_memory",
    AllReduce => "all_reduce",
    Overhead => "overhead",
});

/// The time of one step as a predecessor sees it.
///
/// How the parts make up the total is the model's own rule: [`InferSim`](super::InferSim) adds them,
/// [`Blis`](super::Blis) and [`Calibrated`](super::Calibrated) take the larger of compute and memory
/// of each phase, and combine the phases.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompatTime {
    parts: [Option<Seconds>; CompatPart::ALL.len()],
    total: Seconds,
    provenance: Provenance,
}

impl CompatTime {
    /// An empty step.
    pub(super) const ZERO: CompatTime = CompatTime {
        parts: [None; CompatPart::ALL.len()],
        total: Seconds::ZERO,
        provenance: Class::Measured.inside(),
    };

    /// The whole step.
    pub fn total(&self) -> Seconds {
        self.total
    }

    /// The parts that the step has, in the order of [`CompatPart::ALL`].
    pub fn parts(&self) -> impl Iterator<Item = (CompatPart, Seconds)> + '_ {
        let slots = CompatPart::ALL.into_iter().zip(self.parts);
        slots.filter_map(|(part, slot)| slot.map(|time| (part, time)))
    }

    /// Time of `part`, zero if the step has none.
    pub fn part(&self, part: CompatPart) -> Seconds {
        let slot = self.parts.get(part as usize).copied().flatten();
        slot.unwrap_or(Seconds::ZERO)
    }

    /// The worst provenance of any MFU that was used, `Bound` where it is a default.
    pub fn provenance(&self) -> Provenance {
        self.provenance
    }

    /// Records a part, or adds to it; the total stays.
    pub(super) fn add(&mut self, part: CompatPart, time_s: f64, provenance: Provenance) {
        if let Some(slot) = self.parts.get_mut(part as usize) {
            *slot = Some(slot.unwrap_or(Seconds::ZERO) + Seconds(time_s));
        }
        self.provenance = self.provenance.worst(provenance);
    }

    /// Finishes with the sum of the parts as total.
    pub(super) fn summed(self) -> CompatTime {
        let total = self.parts().map(|(_, time)| time).sum();
        CompatTime { total, ..self }
    }

    /// Finishes with a total of whole microseconds, halves up.
    pub(super) fn rounded(self, total_us: f64) -> CompatTime {
        // A cast from float truncates, which rounds after adding a half.
        let total = Seconds::from_us((total_us + 0.5) as u64 as f64);
        CompatTime { total, ..self }
    }
}
