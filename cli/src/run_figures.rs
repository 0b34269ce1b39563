//! The figures of a run, for people.

use std::fmt::Write;

use rooflut::sim::figures::Stats;

use crate::disaggregation::Pools;
use crate::goodput;
use crate::output::{Align, Grid, count, ms, number, percent, plural, wrapped_at};
use crate::run_output::Outcome;
use crate::served::MOST_KEPT;
use crate::shares::Shares;

/// Where text begins after its label.
const INDENT: usize = 15;
/// Parts of a step that are told by name.
const MOST_PARTS: usize = 4;

impl Outcome<'_> {
    /// Latencies, what was served, and where the time went.
    pub(crate) fn write_figures(&self, text: &mut String) -> std::fmt::Result {
        self.write_latencies(text)?;
        self.write_totals(text)?;
        self.write_use(text);
        self.write_overload(text)
    }

    fn write_latencies(&self, text: &mut String) -> std::fmt::Result {
        let mut grid = Grid::new(&[
            ("latency", Align::Left),
            ("mean ms", Align::Right),
            ("p50 ms", Align::Right),
            ("p90 ms", Align::Right),
            ("p95 ms", Align::Right),
            ("p99 ms", Align::Right),
        ]);
        let summary = self.summary;
        let itl = match summary.drafts {
            Some(_) => "ITL    between steps, +-0.05 %",
            None => "ITL    between tokens, +-0.05 %",
        };
        for (name, stats) in [
            ("TTFT   time to first token", summary.ttft),
            ("TPOT   time per output token", summary.tpot),
            (itl, summary.itl),
            ("E2E    arrival to last token", summary.e2e),
            ("queue  arrival to scheduling", summary.queue),
        ] {
            let cell = |of: fn(&Stats) -> _| stats.as_ref().map_or("-".to_owned(), |s| ms(of(s)));
            grid.row(vec![
                name.to_owned(),
                cell(|s| s.mean),
                cell(|s| s.p50),
                cell(|s| s.p90),
                cell(|s| s.p95),
                cell(|s| s.p99),
            ]);
        }
        text.write_str(&grid.render(2))?;
        if summary.percentile_error > 0.0 {
            writeln!(
                text,
                "  percentiles from histograms, within {} %; exact up to {} requests",
                number(100.0 * summary.percentile_error, 2),
                count(MOST_KEPT),
            )?;
        }
        Ok(())
    }

    fn write_totals(&self, text: &mut String) -> std::fmt::Result {
        let summary = self.summary;
        let throughput = &summary.throughput;
        let rates = format!(
            "{} requests/s, {} output tokens/s, {} tokens/s with prompts",
            number(throughput.requests_per_s, 2),
            number(throughput.output_tokens_per_s, 0),
            number(throughput.total_tokens_per_s, 0),
        );
        text.push('\n');
        text.push_str(&wrapped_at(INDENT, "throughput", &rates));
        if let Some(goodput) = &summary.goodput {
            let told = goodput::describe(goodput, self.requests());
            text.push_str(&wrapped_at(INDENT, "goodput", &told));
        }
        if let (Some(speculating), Some(drafts)) = (self.speculating, &summary.drafts) {
            let told = speculating.figures(drafts, self.draft_share());
            text.push_str(&wrapped_at(INDENT, "drafts", &told));
        }
        if let Some(stages) = &summary.stages {
            for (label, told) in Pools::figures(stages, summary) {
                text.push_str(&wrapped_at(INDENT, label, &told));
            }
        }
        let completed = format!(
            "{} of {} in {} simulated s, {}, {}",
            count(summary.completed),
            plural(self.requests(), "request"),
            number(summary.makespan.0, 2),
            plural(summary.steps, "step"),
            plural(summary.preemptions, "preemption"),
        );
        text.push_str(&wrapped_at(INDENT, "completed", &completed));
        for rejected in self.rejected() {
            let requests = count(rejected.requests);
            writeln!(text, "  rejected     {requests}: {}", rejected.cause)?;
        }
        Ok(())
    }

    fn write_use(&self, text: &mut String) {
        let server = &self.summary.server;
        let busy = format!(
            "{} of the time, {} requests at once on average",
            percent(100.0 * server.busy_share),
            number(server.mean_running, 1),
        );
        text.push_str(&wrapped_at(INDENT, "busy", &busy));
        if let Some(batch) = &self.summary.batch {
            let sizes = format!(
                "{} requests a step on average, p50 {}, p90 {}, p95 {}, p99 {} (over the time)",
                number(batch.mean, 1),
                count(batch.p50.into()),
                count(batch.p90.into()),
                count(batch.p95.into()),
                count(batch.p99.into()),
            );
            text.push_str(&wrapped_at(INDENT, "batch", &sizes));
        }
        for (label, shares) in [
            ("time", Shares::by_part(&self.sources)),
            ("bound by", Shares::by_binding(&self.sources)),
        ] {
            let told = shares.describe(MOST_PARTS);
            if !told.is_empty() {
                text.push_str(&wrapped_at(INDENT, label, &told));
            }
        }
        text.push_str(&wrapped_at(INDENT, "KV cache", &self.kv_cache()));
    }

    fn kv_cache(&self) -> String {
        let kv = &self.summary.kv;
        let share = |blocks: f64| percent(100.0 * blocks / f64::from(kv.blocks));
        format!(
            "{} of {} blocks of {} tokens at the peak ({}), {} on average",
            count(kv.peak_blocks.into()),
            count(kv.blocks.into()),
            self.config.block_size,
            share(f64::from(kv.peak_blocks)),
            share(kv.mean_blocks),
        )
    }

    /// Says so where the queue grows all the time.
    fn write_overload(&self, text: &mut String) -> std::fmt::Result {
        // A queue of users who wait for their answers does not grow.
        if self.args.workload.users.is_some() {
            return Ok(());
        }
        let summary = self.summary;
        let mean_step = self.sources.total() * (1.0 / summary.steps.max(1) as f64);
        let growth = summary.queue_growth;
        let Some(growth) = growth.filter(|growth| growth.is_overload(mean_step)) else {
            return Ok(());
        };
        let times = match summary.stages {
            Some(_) => "time in queues and on links",
            None => "queue time",
        };
        writeln!(
            text,
            "\n  the server does not keep up with this rate: the mean {times} grows from {} ms in the\n  \
             first quarter of the requests to {} ms in the last",
            ms(growth.first_quarter),
            ms(growth.last_quarter),
        )
    }
}
