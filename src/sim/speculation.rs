//! Speculative decoding: the number of accepted drafted tokens.

use crate::error::Invalid;
use crate::sim::memory::content::mix;

/// Maximum drafted tokens per step.
const MAX_DRAFT_TOKENS: usize = 16;

/// Speculative decoding with a constant acceptance rate.
///
/// Every step verifies `draft_tokens` drafted tokens of each decoding request. The target model accepts each drafted
/// token with the same probability if it accepted the token before, and samples one token of its own after the last
/// accepted token. A step yields 1 to `draft_tokens` + 1 tokens of a request, (1 - a^(k + 1)) / (1 - a) on average for
/// a rate a and k drafted tokens (Leviathan et al., "Fast inference from transformers via speculative decoding", 2023,
/// equation 1).
///
/// The number of accepted tokens depends on the seed, the index of the request and its tokens so far, and not on
/// the schedule or on other requests. A step costs O(decoding requests); without speculation it costs O(1).
///
/// Assumes: acceptance does not depend on text, position or load.
///
/// ```
/// use rooflut::sim::Speculation;
/// let speculation = Speculation::try_new(4, 0.7, 42)?;
/// assert_eq!(speculation.draft_tokens(), 4);
/// assert!((speculation.tokens_per_step() - 2.7731).abs() < 1e-9);
/// assert!(Speculation::try_new(4, 1.5, 42).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "Parameters", into = "Parameters"))]
pub struct Speculation {
    draft_tokens: u32,
    drafter: Drafter,
    seed: u64,
    /// Number of the 2^64 draws that accept the first 1, 2, ... drafted tokens.
    accepting: [u64; MAX_DRAFT_TOKENS],
}

/// The source of drafted tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Drafter {
    /// A lookup in the prompt.
    Ngrams,
    Model,
    /// An MTP layer of the target, or an EAGLE-3 head.
    Mtp,
}

impl Speculation {
    /// Creates a model of `draft_tokens` (1 to 16) drafted tokens per step. Each is accepted with probability
    /// `acceptance` if all drafted tokens before it are accepted.
    ///
    /// # Errors
    /// 0 or more than 16 tokens, or a probability outside of 0 to 1.
    pub fn try_new(draft_tokens: u32, acceptance: f64, seed: u64) -> Result<Speculation, Invalid> {
        if !(1..=MAX_DRAFT_TOKENS).contains(&(draft_tokens as usize)) {
            return Err(Invalid::new("draft_tokens", "expected 1 to 16 tokens, found {}", &[draft_tokens.into()]));
        }
        if !(0.0..=1.0).contains(&acceptance) {
            return Err(Invalid::new("acceptance", "expected a share from 0 to 1, found {}", &[acceptance.into()]));
        }
        let mut accepting = [0; MAX_DRAFT_TOKENS];
        let mut all = 1.0;
        for count in accepting.iter_mut().take(draft_tokens as usize) {
            all *= acceptance;
            *count = (all * DRAWS) as u64; // saturates at probability 1
        }
        Ok(Speculation { draft_tokens, drafter: Drafter::Ngrams, seed, accepting })
    }

    /// Sets the seed of the acceptances.
    #[must_use]
    pub const fn with_seed(mut self, seed: u64) -> Speculation {
        self.seed = seed;
        self
    }

    /// Lets a draft model draft the tokens. In each step, a running request then reserves KV blocks for as many more
    /// tokens, for the draft model to write into (`num_lookahead_tokens` of vLLM's scheduler).
    #[must_use]
    pub const fn with_draft_model(mut self) -> Speculation {
        self.drafter = Drafter::Model;
        self
    }

    /// Lets an MTP layer of the model or an EAGLE-3 head draft the tokens. Blocks are reserved as with a draft model. A
    /// prefix hit is then one block shorter, if that is the rule ([`mtp_drops_block`](crate::engine::SchedulingRules::mtp_drops_block)).
    #[must_use]
    pub const fn with_mtp(mut self) -> Speculation {
        self.drafter = Drafter::Mtp;
        self
    }

    /// Returns the number of tokens beyond the step that a running request reserves KV blocks for: the drafted tokens
    /// per step with a draft model or an MTP layer, else 0.
    pub fn lookahead_tokens(&self) -> u32 {
        match self.drafter {
            Drafter::Ngrams => 0,
            Drafter::Model | Drafter::Mtp => self.draft_tokens,
        }
    }

    /// Returns whether an MTP layer or an EAGLE-3 head drafts the tokens.
    pub fn is_mtp(&self) -> bool {
        self.drafter == Drafter::Mtp
    }

    /// Returns the drafted tokens per request and step.
    pub fn draft_tokens(&self) -> u32 {
        self.draft_tokens
    }

    /// Returns the mean number of tokens that a step yields per request.
    pub fn tokens_per_step(&self) -> f64 {
        let drafted = self.accepting.iter().take(self.draft_tokens as usize);
        drafted.fold(1.0, |sum, &count| sum + count as f64 / DRAWS)
    }

    /// Returns how many of the tokens drafted for request `index` after its first `generated` tokens are accepted.
    pub fn accepted(&self, index: usize, generated: u32) -> u32 {
        let draw = mix(mix(self.seed, index as u64), u64::from(generated));
        let drafted = self.accepting.iter().take(self.draft_tokens as usize);
        drafted.take_while(|&&count| draw < count || count == u64::MAX).count() as u32
    }
}

/// Arguments of [`Speculation::try_new`].
#[cfg(feature = "serde")]
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, rename = "Speculation")]
struct Parameters {
    draft_tokens: u32,
    acceptance: f64,
    seed: u64,
    #[serde(default)]
    draft_model: bool,
    #[serde(default)]
    mtp: bool,
}

#[cfg(feature = "serde")]
impl TryFrom<Parameters> for Speculation {
    type Error = Invalid;

    fn try_from(parameters: Parameters) -> Result<Speculation, Invalid> {
        let speculation = Speculation::try_new(parameters.draft_tokens, parameters.acceptance, parameters.seed)?;
        match (parameters.draft_model, parameters.mtp) {
            (false, false) => Ok(speculation),
            (true, false) => Ok(speculation.with_draft_model()),
            (false, true) => Ok(speculation.with_mtp()),
            (true, true) => {
                let text = "expected a draft model or an MTP layer, found both; leave one of them out";
                Err(Invalid::new("speculation", text, &[]))
            }
        }
    }
}

#[cfg(feature = "serde")]
impl From<Speculation> for Parameters {
    fn from(speculation: Speculation) -> Parameters {
        let [first, ..] = speculation.accepting;
        Parameters {
            draft_tokens: speculation.draft_tokens,
            // The first draft is accepted at the rate itself.
            acceptance: first as f64 / DRAWS,
            seed: speculation.seed,
            draft_model: speculation.drafter == Drafter::Model,
            mtp: speculation.is_mtp(),
        }
    }
}

/// Number of possible draws, 2^64.
const DRAWS: f64 = 18_446_744_073_709_551_616.0;

#[cfg(test)]
#[allow(clippy::float_cmp)] // Sums of exact shares.
mod tests {
    use super::*;

    #[test]
    fn accepted_tokens_follow_the_acceptance_rate() {
        let speculation = Speculation::try_new(3, 0.6, 7).unwrap();
        let mut counts = [0_u32; 5];
        for index in 0..1_000 {
            for generated in 1..101 {
                counts[speculation.accepted(index, generated) as usize] += 1;
            }
        }
        // 0.4, 0.6 x 0.4, 0.6^2 x 0.4, 0.6^3; the standard error is 160 or less.
        for (count, expected) in counts.into_iter().zip([40_000, 24_000, 14_400, 21_600, 0]) {
            assert!(count.abs_diff(expected) < 700, "{counts:?}");
        }
        let of = |index| speculation.accepted(index, 5);
        assert!((0..20).any(|index| of(index) != of(index + 1)));
    }

    #[test]
    fn rates_of_zero_and_one_are_exact() {
        let all = Speculation::try_new(16, 1.0, 1).unwrap();
        let none = Speculation::try_new(16, 0.0, 1).unwrap();
        for index in 0..10_000 {
            assert_eq!((all.accepted(index, 3), none.accepted(index, 3)), (16, 0));
        }
        assert_eq!((all.tokens_per_step(), none.tokens_per_step()), (17.0, 1.0));
    }

    #[test]
    fn values_out_of_range_are_refused_by_name() {
        let refused = |draft_tokens, rate| Speculation::try_new(draft_tokens, rate, 0).unwrap_err().setting();
        assert_eq!(refused(0, 0.5), "draft_tokens");
        assert_eq!(refused(17, 0.5), "draft_tokens");
        for rate in [-0.1, 1.1, f64::NAN] {
            assert_eq!(refused(4, rate), "acceptance");
        }
    }
}
