//! How far a sweep is, while it lasts.

use std::fmt;
use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use rooflut_sweep::duration;

use crate::output::{count, plural};

/// Time between two lines where there is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(5);

/// Progress of a sweep, on standard error: a bar if that is a terminal; lines if they are asked for.
pub(super) struct Progress {
    start: Instant,
    bar: Option<ProgressBar>,
    lines: bool,
    /// When the last line was written.
    line: Duration,
    total: u64,
    /// Rows that were there before.
    before: u64,
    done: u64,
}

impl Progress {
    pub(super) fn new(total: u64, before: u64, lines: bool, is_shown: bool) -> Progress {
        Progress {
            start: Instant::now(),
            bar: (is_shown && stderr().is_terminal()).then(|| bar(total, before)),
            lines: lines && !stderr().is_terminal(),
            line: Duration::ZERO,
            total,
            before,
            done: before,
        }
    }

    /// Adds a row.
    pub(super) fn add(&mut self) {
        self.done += 1;
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
        if self.lines {
            let elapsed = self.start.elapsed();
            if elapsed >= self.line + BETWEEN_LINES || self.done == self.total {
                self.line = elapsed;
                // A reader that went away does not end the sweep.
                let _ = writeln!(stderr(), "{}", self.text(elapsed));
            }
        }
    }

    /// `1200 of 5000 deployments; about 12 s left`.
    fn text(&self, elapsed: Duration) -> String {
        let all = plural(self.total, "deployment");
        let new = self.done - self.before;
        let left = (self.total - self.done) as f64 * elapsed.as_secs_f64() / new.max(1) as f64;
        let left = if left >= 1.0 { format!("; about {} left", duration(left)) } else { String::new() };
        format!("{} of {all}{left}", count(self.done))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(total: u64, before: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    let bar = match ProgressStyle::with_template("{wide_bar} {done}, {eta} left") {
        Ok(style) => bar.with_style(style.with_key("done", move |state: &ProgressState, to: &mut dyn fmt::Write| {
            let _ = write!(to, "{} of {}", count(state.pos()), plural(total, "deployment"));
        })),
        Err(_) => bar,
    };
    bar.set_position(before);
    // Rows that were there took no time.
    bar.reset_eta();
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_that_is_left_is_that_of_the_new_rows_in_its_largest_unit() {
        let mut progress = Progress::new(1_000_000, 0, false, false);
        progress.done = 4_000;
        let text = |progress: &Progress, s| progress.text(Duration::from_secs(s));
        assert_eq!(text(&progress, 1_000), "4000 of 1_000_000 deployments; about 69 hours left");
        assert_eq!(text(&progress, 4), "4000 of 1_000_000 deployments; about 17 minutes left");
        progress.before = 3_000;
        assert_eq!(text(&progress, 4), "4000 of 1_000_000 deployments; about 66 minutes left");
        progress.done = 999_999;
        assert_eq!(text(&progress, 4), "999_999 of 1_000_000 deployments");
    }
}
