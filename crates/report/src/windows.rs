//! Figures over time.

use std::io::{self, Write};

use rooflut::sim::figures::Summary;
use serde::Serialize;

use crate::figures::LatencyMs;

/// Figures of a window of a run. Requests belong to the window in which they end, steps to the one in which they begin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Window {
    /// Begin, seconds from the start.
    pub from_s: f64,
    /// End: that of the run, if the window is partial.
    pub to_s: f64,
    /// Whether the run ends before the window does; only the last window may be partial.
    pub is_partial: bool,
    /// Requests that arrived.
    pub arrived: u64,
    /// Requests that were served in full.
    pub completed: u64,
    /// Rejected requests, by their arrival; abandoned ones, which are among them, by the time when their clients gave up.
    pub rejected: u64,
    /// Requests whose clients gave up before the first token.
    pub abandoned: u64,
    /// Requests served within the latency limits; null without limits.
    pub goodput_met: Option<u64>,
    /// Requests served per second.
    pub requests_per_s: f64,
    /// Tokens generated per second, of the served requests.
    pub output_tokens_per_s: f64,
    /// Tokens of prompts and outputs of the served requests, per second.
    pub total_tokens_per_s: f64,
    /// Time to first token.
    pub ttft_ms: LatencyMs,
    /// Time per output token after the first.
    pub tpot_ms: LatencyMs,
    /// Inter-token latency.
    pub itl_ms: LatencyMs,
    /// Time from the arrival to the last token.
    pub e2e_ms: LatencyMs,
    /// Time from the arrival at the engine to the first scheduling.
    pub queue_ms: LatencyMs,
    /// Preemptions of running requests.
    pub preemptions: u64,
    /// Share of the time in which a step ran, averaged over the replicas.
    pub busy_share: f64,
    /// Running requests, averaged over the time, of all replicas.
    pub running_mean: f64,
    /// Requests in the queues, averaged over the time, of all replicas.
    pub waiting_mean: f64,
    /// Requests that a step computes, averaged over the time of the steps; null without a step.
    pub batch_size_mean: Option<f64>,
    /// KV blocks held, averaged over the time, of all replicas.
    pub kv_blocks_mean: f64,
    /// Share of the prompt tokens of served requests that the prefix cache had; null without such a request.
    pub prefix_cache_hit_rate: Option<f64>,
}

/// Properties of a window that its [`Summary`] does not have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowBounds {
    /// Begin and end, seconds from the start.
    pub span_s: [f64; 2],
    /// Whether the run ends before the window does.
    pub is_partial: bool,
    /// Requests that arrived.
    pub arrived: u64,
    /// Requests in the queues times seconds.
    pub waiting_s: f64,
}

const COLUMNS: &str = "from_s,to_s,is_partial,arrived,completed,rejected,goodput_met,requests_per_s,output_tokens_per_s,\
                       total_tokens_per_s,preemptions,busy_share,running_mean,waiting_mean,batch_size_mean,\
                       kv_blocks_mean,prefix_cache_hit_rate";
const LATENCIES: [&str; 5] = ["ttft", "tpot", "itl", "e2e", "queue"];
const FIGURES: [&str; 6] = ["mean", "p50", "p90", "p95", "p99", "p99_9"];

impl Window {
    /// Returns the figures of a window.
    pub fn of(summary: &Summary, bounds: WindowBounds) -> Window {
        let latency = |stats| LatencyMs::of(stats, summary.completed);
        let WindowBounds { span_s: [from_s, to_s], is_partial, arrived, waiting_s } = bounds;
        Window {
            from_s,
            to_s,
            is_partial,
            arrived,
            completed: summary.completed,
            rejected: summary.rejected,
            abandoned: summary.abandoned,
            goodput_met: summary.goodput.map(|goodput| goodput.met),
            requests_per_s: summary.throughput.requests_per_s,
            output_tokens_per_s: summary.throughput.output_tokens_per_s,
            total_tokens_per_s: summary.throughput.total_tokens_per_s,
            ttft_ms: latency(summary.ttft),
            tpot_ms: latency(summary.tpot),
            itl_ms: latency(summary.itl),
            e2e_ms: latency(summary.e2e),
            queue_ms: latency(summary.queue),
            preemptions: summary.preemptions,
            busy_share: summary.server.busy_share,
            running_mean: summary.server.mean_running,
            waiting_mean: if to_s > from_s { waiting_s / (to_s - from_s) } else { 0.0 },
            batch_size_mean: summary.batch.map(|batch| batch.mean),
            kv_blocks_mean: summary.kv.mean_blocks,
            prefix_cache_hit_rate: summary.kv.prefix_hit_rate,
        }
    }

    /// Writes the windows as CSV, a line each. Empty cells are figures that are not known.
    ///
    /// # Errors
    /// A failure of the writer.
    pub fn write_csv(windows: &[Window], out: &mut impl Write) -> io::Result<()> {
        write!(out, "{COLUMNS}")?;
        for latency in LATENCIES {
            for figure in FIGURES {
                write!(out, ",{latency}_{figure}_ms")?;
            }
        }
        writeln!(out, ",abandoned")?;
        windows.iter().try_for_each(|window| window.write_row(out))
    }

    fn write_row(&self, out: &mut impl Write) -> io::Result<()> {
        let Window { from_s, to_s, is_partial, arrived, completed, rejected, .. } = self;
        let goodput_met = self.goodput_met.map_or_else(String::new, |met| met.to_string());
        write!(out, "{from_s},{to_s},{is_partial},{arrived},{completed},{rejected},{goodput_met}")?;
        let figures = [
            Some(self.requests_per_s),
            Some(self.output_tokens_per_s),
            Some(self.total_tokens_per_s),
            Some(self.preemptions as f64),
            Some(self.busy_share),
            Some(self.running_mean),
            Some(self.waiting_mean),
            self.batch_size_mean,
            Some(self.kv_blocks_mean),
            self.prefix_cache_hit_rate,
        ];
        let latencies = [self.ttft_ms, self.tpot_ms, self.itl_ms, self.e2e_ms, self.queue_ms];
        for figure in figures.into_iter().chain(latencies.into_iter().flat_map(LatencyMs::all)) {
            match figure {
                Some(figure) => write!(out, ",{figure}")?,
                None => write!(out, ",")?,
            }
        }
        writeln!(out, ",{}", self.abandoned)
    }
}
