//! How far a simulation is, while it lasts.

use std::convert::Infallible;
use std::io::{IsTerminal, Write, stderr};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rooflut::sim::{Observer, Progress};
use rooflut_sweep::duration;

use crate::output::{count, number, plural};

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);
/// Time between two lines where there is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(5);
/// Reports between two looks at the wall clock.
const REPORTS_PER_LOOK: u64 = 1 << 8;

/// Progress of a simulation, on standard error: a bar if that is a terminal; if lines are asked for, one
/// now and then where it is none, and one at the end.
pub(crate) struct Bar {
    start: Instant,
    is_terminal: bool,
    lines: bool,
    bar: Option<ProgressBar>,
    /// When the last line was written.
    line: Duration,
    reports: u64,
    last: Option<Progress>,
}

impl Bar {
    pub(crate) fn new(lines: bool) -> Bar {
        Bar {
            start: Instant::now(),
            is_terminal: stderr().is_terminal(),
            lines,
            bar: None,
            line: Duration::ZERO,
            reports: 0,
            last: None,
        }
    }

    fn show(&mut self, progress: &Progress) {
        let elapsed = self.start.elapsed();
        if !self.is_terminal && elapsed >= self.line + BETWEEN_LINES {
            self.line = elapsed;
            write_line(progress, elapsed);
        }
        if self.is_terminal && elapsed >= PATIENCE {
            let bar = self.bar.get_or_insert_with(|| bar(progress.total));
            bar.set_position(progress.completed + progress.rejected);
            bar.set_message(simulated(progress, elapsed));
        }
    }
}

/// Shows where the simulation is, once it has lasted.
impl Observer for Bar {
    fn progress(&mut self, progress: &Progress) {
        self.last = Some(*progress);
        self.reports += 1;
        if self.reports.is_multiple_of(REPORTS_PER_LOOK) && (self.is_terminal || self.lines) {
            self.show(progress);
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if let Some(progress) = self.last.filter(|_| self.lines) {
            write_line(&progress, self.start.elapsed());
        }
    }
}

fn bar(requests: Option<u64>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(requests, ProgressDrawTarget::stderr());
    let template = match requests {
        Some(_) => "{wide_bar} {human_pos} of {human_len} requests\n{msg}",
        None => "{human_pos} requests\n{msg}",
    };
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// A reader that went away does not end the simulation.
fn write_line(progress: &Progress, elapsed: Duration) {
    let _ = writeln!(stderr(), "{}", line(progress, elapsed));
}

/// `1200 of 5000 requests; simulated 70.1 s, 5000 times as fast as the clock; 3 waiting`.
fn line(progress: &Progress, elapsed: Duration) -> String {
    let done = progress.completed + progress.rejected;
    let done = match progress.total {
        Some(total) => format!("{} of {}", count(done), plural(total, "request")),
        None => plural(done, "request"),
    };
    format!("{done}; {}", simulated(progress, elapsed))
}

/// Simulated time, which is none of this world.
fn simulated(progress: &Progress, elapsed: Duration) -> String {
    let simulated_s = progress.now_ns as f64 / 1e9;
    let elapsed_s = elapsed.as_secs_f64();
    let mut text = format!("simulated {} s", number(simulated_s, 1));
    if elapsed_s > 0.0 && simulated_s > 0.0 {
        let speed = simulated_s / elapsed_s;
        let decimals = if speed < 10.0 { 1 } else { 0 };
        let speed = number(speed, decimals);
        text.push_str(&format!(", {speed} times as fast as the clock"));
    }
    text.push_str(&format!("; {} waiting", count(progress.waiting)));
    if let Some(left_s) = left_s(progress, elapsed_s).filter(|left_s| *left_s >= 1.0) {
        text.push_str(&format!("; about {} left", duration(left_s)));
    }
    text
}

/// Time of the clock that is left if requests leave as fast as they did.
fn left_s(progress: &Progress, elapsed_s: f64) -> Option<f64> {
    let done = progress.completed + progress.rejected;
    let left = progress.total?.saturating_sub(done);
    (done > 0).then(|| elapsed_s * left as f64 / done as f64)
}

/// Time between two lines of a [`Ticker`].
const BETWEEN_TICKS: Duration = Duration::from_secs(10);
/// Time between two lines on a terminal, where they replace each other.
const BETWEEN_FRAMES: Duration = Duration::from_secs(1);

/// Progress of a command that is not one simulation, on standard error: a line that is renewed if that is a terminal,
/// one line every ten seconds where it is none. A thread writes them until the ticker is dropped.
pub struct Ticker {
    /// Dropped first, which ends the thread.
    end: Option<Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Starts to tell what is `done`.
    pub fn start(done: impl Fn() -> String + Send + 'static) -> Ticker {
        let (end, ended) = channel();
        let write = move || {
            if stderr().is_terminal() {
                let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
                let style = ProgressStyle::with_template("{msg}");
                let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
                tick(&ended, BETWEEN_FRAMES, done, |line| {
                    bar.set_message(line);
                    true
                });
                bar.finish_and_clear();
            } else {
                tick(&ended, BETWEEN_TICKS, done, |line| writeln!(stderr(), "{line}").is_ok())
            }
        };
        Ticker {
            end: Some(end),
            // Without a thread the command is silent.
            thread: thread::Builder::new().spawn(write).ok(),
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.end.take();
        // A panic there has been reported.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Writes what is done after each interval until `ended`, or until the reader has closed: the command goes on.
fn tick(
    ended: &Receiver<Infallible>,
    interval: Duration,
    done: impl Fn() -> String,
    mut write: impl FnMut(String) -> bool,
) {
    let start = Instant::now();
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(interval) {
        let elapsed_s = start.elapsed().as_secs_f64();
        if !write(format!("{} after {} s", done(), number(elapsed_s, 0))) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticker_tells_what_is_done_until_it_ends() {
        let (end, ended) = channel();
        let mut end = Some(end);
        let mut lines = Vec::new();
        tick(
            &ended,
            Duration::ZERO,
            || "7 simulations".to_owned(),
            |line| {
                lines.push(line);
                if lines.len() == 3 {
                    end = None;
                }
                true
            },
        );
        assert_eq!(lines, ["7 simulations after 0 s"; 3]);
    }

    #[test]
    fn a_ticker_without_a_reader_falls_silent() {
        let (_end, ended) = channel();
        let mut written = 0;
        let write = |_| {
            written += 1;
            false
        };
        tick(&ended, Duration::ZERO, String::new, write);
        assert_eq!(written, 1);
    }

    #[test]
    fn a_short_command_does_not_wait_for_its_ticker() {
        let start = Instant::now();
        drop(Ticker::start(String::new));
        assert!(start.elapsed() < BETWEEN_FRAMES);
    }

    #[test]
    fn simulated_time_is_told_apart_from_that_of_the_clock() {
        let mut progress = Progress::default();
        (progress.completed, progress.rejected) = (1_190, 10);
        progress.now_ns = 70_140_000_000;
        progress.waiting = 3;
        progress.total = Some(5_000);
        let told = line(&progress, Duration::from_millis(20));
        assert_eq!(told, "1200 of 5000 requests; simulated 70.1 s, 3507 times as fast as the clock; 3 waiting");
        // A server that takes longer to simulate than to wait for, and a source without an end.
        progress.total = None;
        let told = line(&progress, Duration::from_secs(200));
        assert_eq!(told, "1200 requests; simulated 70.1 s, 0.4 times as fast as the clock; 3 waiting");
        progress.total = Some(5_000);
        let told = line(&progress, Duration::from_secs(200));
        assert!(told.ends_with("; 3 waiting; about 11 minutes left"), "{told}");
        let nothing = line(&Progress::default(), Duration::ZERO);
        assert_eq!(nothing, "0 requests; simulated 0.0 s; 0 waiting");
    }
}
