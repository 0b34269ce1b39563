//! The knee of a curve of load and latency.

/// Load, throughput and latency, in any units.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) rate: f64,
    pub(crate) throughput: f64,
    pub(crate) latency: f64,
}

impl Sample {
    /// Computes throughput over mean latency.
    fn power(&self) -> f64 {
        self.throughput / self.latency
    }
}

/// Returns the rate at which power, throughput over mean latency, is highest; `curve` ascends by rate. Between samples,
/// it is the vertex of the parabola through the highest one and its neighbours; `None` for an empty curve.
///
/// Source: L. Kleinrock, "Power and deterministic rules of thumb for probabilistic problems in computer communications",
/// ICC 1979. A knee of the curve's shape (as Kneedle's) depends on how far the curve goes, and beyond saturation latency
/// grows with the number of requests of a run; the largest power does not.
pub(crate) fn knee(curve: &[Sample]) -> Option<f64> {
    let powers = curve.iter().map(Sample::power).enumerate();
    let (best, _) = powers.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let around = best.checked_sub(1).and_then(|first| curve.get(first..)?.first_chunk::<3>());
    match around {
        Some(around) => vertex(around),
        None => curve.get(best).map(|sample| sample.rate),
    }
}

/// Returns where the parabola through the powers of three samples is highest; the middle one is the highest of them.
fn vertex([left, middle, right]: &[Sample; 3]) -> Option<f64> {
    let (before, after) = (middle.rate - left.rate, right.rate - middle.rate);
    let rise = (middle.power() - left.power()) / before;
    let fall = (middle.power() - right.power()) / after;
    // Slopes at the middles of both gaps, between which the slope falls linearly.
    let sum = rise + fall;
    let middle_of_first = middle.rate - before / 2.0;
    let vertex = middle_of_first + (before + after) / 2.0 * rise / sum;
    Some(if sum > 0.0 { vertex } else { middle.rate })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server of rate 1 whose requests stay for `latency` at a utilisation, and that serves no more than it can.
    fn server(utilisations: &[f64], latency: fn(f64) -> f64) -> Vec<Sample> {
        let sample = |rate: &f64| Sample { rate: *rate, throughput: rate.min(1.0), latency: latency(*rate) };
        utilisations.iter().map(sample).collect()
    }

    /// Beyond saturation, the time in the queue of a run that ends.
    fn beyond(rate: f64, below: f64) -> f64 {
        if rate < 0.999 { below } else { 1e3 * rate }
    }

    const LOADS: [f64; 12] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5];

    #[test]
    fn the_knee_of_single_queues_is_where_analysis_puts_it() {
        // M/D/1: T = 1 + r / (2 (1 - r)), whose power r / T is highest at 2 - sqrt 2.
        let constant = server(&LOADS, |r| beyond(r, 1.0 + r / (2.0 * (1.0 - r))));
        let found = knee(&constant).unwrap();
        assert!((found - (2.0 - 2.0_f64.sqrt())).abs() < 0.01, "{found}");
        // M/M/1: T = 1 / (1 - r), highest at one half.
        let exponential = server(&LOADS, |r| beyond(r, 1.0 / (1.0 - r)));
        let found = knee(&exponential).unwrap();
        assert!((found - 0.5).abs() < 1e-9, "{found}");
    }

    #[test]
    fn the_knee_does_not_depend_on_how_far_the_curve_goes() {
        let latency = |r: f64| beyond(r, 1.0 + r / (2.0 * (1.0 - r)));
        let whole = server(&LOADS, latency);
        assert_eq!(knee(&whole), knee(&whole[..8]));
        assert_eq!(knee(&whole), knee(&whole[3..]));
    }

    #[test]
    fn a_latency_that_never_grows_has_its_knee_at_saturation() {
        let flat = server(&LOADS, |r| beyond(r, 1.0));
        assert_eq!(knee(&flat[..9]), Some(0.9));
        assert_eq!(knee(&flat[..1]), Some(0.1));
        assert_eq!(knee(&[]), None);
    }
}
