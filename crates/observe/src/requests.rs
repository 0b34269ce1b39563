//! Single requests.

use rooflut_error::Error;
use serde::{Deserialize, Serialize};

use crate::distribution::Distribution;
use crate::json::contents;

/// A completed request.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Request {
    /// When it was sent, seconds on the client's clock.
    pub start_s: Option<f64>,
    /// Tokens of its prompt.
    pub prompt_tokens: u64,
    /// Tokens of its answer.
    pub output_tokens: u64,
    /// Time to its first token, milliseconds.
    pub ttft_ms: Option<f64>,
    /// Time to its last token, milliseconds.
    pub e2e_ms: Option<f64>,
}

/// All that a client wrote of a request.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Sample {
    pub(crate) has_failed: bool,
    pub(crate) start_s: Option<f64>,
    pub(crate) prompt_tokens: Option<u64>,
    pub(crate) output_tokens: Option<u64>,
    pub(crate) ttft_ms: Option<f64>,
    /// The mean time per token after the first, where the client wrote it.
    pub(crate) tpot_ms: Option<f64>,
    pub(crate) e2e_ms: Option<f64>,
    /// The gaps between tokens.
    pub(crate) gaps_ms: Vec<f64>,
}

/// Maximum size of all requests of a file in memory, MiB.
const MAX_MIB: usize = 256;

/// Room in memory for the runs and requests of a file.
#[derive(Debug)]
pub(crate) struct Room {
    left: usize,
}

impl Default for Room {
    fn default() -> Room {
        Room { left: MAX_MIB << 20 }
    }
}

impl Room {
    /// Takes the room of a value without what it has on the heap.
    ///
    /// # Errors
    /// Too little is left.
    pub(crate) fn take_one<T>(&mut self) -> Result<(), Error> {
        self.take(size_of::<T>())
    }

    /// Collects requests.
    ///
    /// # Errors
    /// The error of a request, and more of them than there is room for.
    pub(crate) fn collect(
        &mut self,
        samples: impl Iterator<Item = Result<Sample, Error>>,
    ) -> Result<Vec<Sample>, Error> {
        let mut collected = Vec::new();
        for sample in samples {
            let sample = sample?;
            // Each figure is sorted beside its request.
            let gaps = 2 * sample.gaps_ms.len() + 1;
            self.take(size_of::<Sample>() + size_of::<Request>() + gaps * size_of::<f64>())?;
            collected.push(sample);
        }
        Ok(collected)
    }

    fn take(&mut self, bytes: usize) -> Result<(), Error> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| {
            contents(format!(
                "expected requests whose figures take at most {MAX_MIB} MiB in memory, found more; divide the file"
            ))
        })?;
        Ok(())
    }
}

/// The figures that follow from the requests of a run.
pub(crate) struct Figures {
    pub(crate) completed: Option<u64>,
    pub(crate) failed: Option<u64>,
    pub(crate) sent_per_s: Option<f64>,
    pub(crate) prompt_tokens: Distribution,
    pub(crate) output_tokens: Distribution,
    pub(crate) ttft_ms: Distribution,
    pub(crate) tpot_ms: Distribution,
    pub(crate) itl_ms: Distribution,
    pub(crate) e2e_ms: Distribution,
}

impl Sample {
    /// Returns a completed request whose tokens are known.
    pub(crate) fn request(&self) -> Option<Request> {
        let Sample { has_failed, start_s, prompt_tokens, output_tokens, ttft_ms, e2e_ms, .. } = *self;
        let (prompt_tokens, output_tokens) = (prompt_tokens?, output_tokens?);
        (!has_failed).then_some(Request { start_s, prompt_tokens, output_tokens, ttft_ms, e2e_ms })
    }

    /// Returns the mean time per token after the first.
    fn tpot_ms(&self) -> Option<f64> {
        let computed = || {
            let after_first = self.output_tokens.filter(|tokens| *tokens > 1)? - 1;
            Some((self.e2e_ms? - self.ttft_ms?) / after_first as f64)
        };
        self.tpot_ms.or_else(computed)
    }
}

/// Sums up the requests of a run.
pub(crate) fn figures(samples: &[Sample]) -> Figures {
    let completed = || samples.iter().filter(|sample| !sample.has_failed);
    let of = |figure: &dyn Fn(&Sample) -> Option<f64>| Distribution::of(completed().filter_map(figure).collect());
    let known = |count: usize| (!samples.is_empty()).then_some(count as u64);
    let starts = samples
        .iter()
        .filter_map(|sample| sample.start_s)
        .fold((f64::MAX, f64::MIN), |(first, last), start| (first.min(start), last.max(start)));
    let span_s = starts.1 - starts.0;
    let all_started = samples.iter().all(|sample| sample.start_s.is_some()) && samples.len() > 1;
    Figures {
        completed: known(completed().count()),
        failed: known(samples.len() - completed().count()),
        sent_per_s: (all_started && span_s > 0.0).then(|| (samples.len() - 1) as f64 / span_s),
        prompt_tokens: of(&|sample| sample.prompt_tokens.map(|tokens| tokens as f64)),
        output_tokens: of(&|sample| sample.output_tokens.map(|tokens| tokens as f64)),
        ttft_ms: of(&|sample| sample.ttft_ms),
        tpot_ms: of(&Sample::tpot_ms),
        itl_ms: Distribution::of(completed().flat_map(|sample| sample.gaps_ms.iter().copied()).collect()),
        e2e_ms: of(&|sample| sample.e2e_ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_collected_as_long_as_there_is_room_for_their_figures() {
        let mut room = Room::default();
        // 16 MiB each.
        let sample = || Ok(Sample { gaps_ms: vec![0.0; 1 << 20], ..Sample::default() });
        assert_eq!(room.collect((0..9).map(|_| sample())).unwrap().len(), 9);
        let error = room.collect((0..9).map(|_| sample())).unwrap_err();
        assert!(error.to_string().contains("at most 256 MiB in memory, found more; divide the file"), "{error}");
        let error = (0..1 << 20).try_for_each(|_| room.take_one::<[u64; 64]>());
        assert!(error.is_err());
    }
}
