//! A progress bar for work that lasts.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rooflut::sim::{Observer, Progress};

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);
/// Reports between two looks at the wall clock.
const REPORTS_PER_LOOK: u64 = 1 << 12;

/// Progress of a simulation, on standard error, if that is a terminal.
pub(crate) struct Bar {
    start: Option<Instant>,
    bar: Option<ProgressBar>,
    reports: u64,
}

impl Bar {
    /// No bar yet.
    pub(crate) fn new() -> Bar {
        Bar {
            start: stderr().is_terminal().then(Instant::now),
            bar: None,
            reports: 0,
        }
    }
}

/// Shows where the simulation is, once it has lasted.
impl Observer for Bar {
    fn progress(&mut self, progress: &Progress) {
        self.reports += 1;
        if !self.reports.is_multiple_of(REPORTS_PER_LOOK) {
            return;
        }
        let Some(start) = self.start else { return };
        if self.bar.is_none() && start.elapsed() >= PATIENCE {
            self.bar = Some(bar(progress.total));
        }
        if let Some(bar) = &self.bar {
            bar.set_position(progress.completed + progress.rejected);
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(requests: Option<u64>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(requests, ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template(
        "simulating {wide_bar} {human_pos} of {human_len} requests, {eta} left",
    );
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
