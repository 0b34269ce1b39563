//! Mean and percentiles of latencies.

/// Latencies of the requests of a run, in milliseconds.
#[derive(Default)]
pub(crate) struct Latencies {
    pub(crate) ttft_ms: Vec<f64>,
    pub(crate) tpot_ms: Vec<f64>,
}

/// Mean, p50 and p99 of TTFT and TPOT, in milliseconds.
pub(crate) struct Figures([f64; 6]);

impl Latencies {
    pub(crate) fn figures(self) -> Figures {
        let [a, b, c] = mean_and_percentiles(self.ttft_ms);
        let [d, e, f] = mean_and_percentiles(self.tpot_ms);
        Figures([a, b, c, d, e, f])
    }
}

impl Figures {
    /// Returns the cells of a row, with the differences from `first` in percent.
    pub(crate) fn beside(&self, first: Option<&Figures>) -> String {
        let cell = |(index, value): (usize, &f64)| match first.and_then(|first| first.0.get(index)) {
            None => format!("{value:.2}"),
            Some(first) => format!("{value:.2} ({:+.1} %)", 100.0 * (value / first - 1.0)),
        };
        let cells: Vec<String> = self.0.iter().enumerate().map(cell).collect();
        cells.join(" | ")
    }
}

/// Percentiles between two values are interpolated.
fn mean_and_percentiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let percentile = |share: f64| {
        let rank = share * values.len().saturating_sub(1) as f64;
        let at = |rank: f64| values.get(rank as usize).copied().unwrap_or(f64::NAN);
        at(rank.floor()) + (at(rank.ceil()) - at(rank.floor())) * rank.fract()
    };
    [mean, percentile(0.5), percentile(0.99)]
}
