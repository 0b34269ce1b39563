//! A timeline of a run in the Chrome trace event format, which ui.perfetto.dev opens: a track of steps,
//! counters, and requests with their phases. Written while the simulation goes on, one event per line;
//! those of a request when it has left, so that lines are not in the order of time (readers sort).
//!
//! Format: "Trace Event Format", docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU

use std::fs::File;
use std::io::{self, BufWriter, Write};

use rooflut::sim::{Observer, Outcome, RequestRecord, StepRecord, Timing};

use crate::error::Error;
use crate::pending_file::PendingFile;
use crate::perfetto_event::{Args, Event};

/// A timeline.
pub(crate) struct Perfetto {
    file: PendingFile,
    /// Where the last step ended.
    end_ns: u64,
    /// As written last.
    counters: Counters,
}

/// Values of the counter tracks.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Counters {
    running: u32,
    waiting: u32,
    kv_blocks: u32,
}

impl Perfetto {
    /// Writes to `file`; `title` says what is run.
    pub(crate) fn new(file: PendingFile, title: &str) -> Perfetto {
        let mut timeline = Perfetto {
            file,
            end_ns: 0,
            counters: Counters::default(),
        };
        timeline.file.write(|file| {
            writeln!(file, "{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")?;
            line(file, &Event::metadata("process_name", title))?;
            writeln!(file, ",")?;
            line(file, &Event::metadata("thread_name", "steps"))
        });
        timeline
    }

    /// The simulation has ended.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        self.count(self.end_ns, Counters::default());
        self.file.write(|file| writeln!(file, "\n]}}"));
        self.file.finish()
    }

    fn write(&mut self, event: &Event<'_>) {
        self.file.write(|file| {
            writeln!(file, ",")?;
            line(file, event)
        });
    }

    /// Writes the counters that have changed.
    fn count(&mut self, at_ns: u64, now: Counters) {
        let shown = std::mem::replace(&mut self.counters, now);
        if shown.running != now.running {
            let requests = now.running;
            self.write(&Event::counter(
                "running",
                at_ns,
                Args::Requests { requests },
            ));
        }
        if shown.waiting != now.waiting {
            let requests = now.waiting;
            self.write(&Event::counter(
                "waiting",
                at_ns,
                Args::Requests { requests },
            ));
        }
        if shown.kv_blocks != now.kv_blocks {
            let blocks = now.kv_blocks;
            self.write(&Event::counter("KV", at_ns, Args::Blocks { blocks }));
        }
    }
}

impl Observer for Perfetto {
    const EACH_STEP: bool = true;

    fn step(&mut self, step: &StepRecord) {
        if step.start_ns > self.end_ns {
            // Nobody was there in between.
            self.count(self.end_ns, Counters::default());
        }
        self.end_ns = step.start_ns.saturating_add(step.duration_ns);
        let now = Counters {
            running: step.running,
            waiting: step.waiting,
            kv_blocks: step.kv_blocks_used,
        };
        self.count(step.start_ns, now);
        self.write(&Event::step(step));
    }

    fn left(&mut self, place: usize, record: &RequestRecord) {
        let arrival_ns = record.request.arrival_ns;
        let args = Args::request(place, record);
        let timing = match &record.outcome {
            Outcome::Completed(timing) => timing,
            Outcome::Rejected(_) => {
                return self.write(&Event::instant(place, "rejected", arrival_ns, args));
            }
        };
        let begin = Event::begin(place, "request", arrival_ns);
        self.write(&begin.with(args));
        for (name, begin_ns, end_ns) in phases(arrival_ns, timing) {
            if begin_ns < end_ns {
                self.write(&Event::begin(place, name, begin_ns));
                self.write(&Event::end(place, name, end_ns));
            }
        }
        self.write(&Event::end(place, "request", timing.finish_ns));
    }
}

/// What a request goes through, from when to when; one after the other, from its arrival to its end.
fn phases(arrival_ns: u64, timing: &Timing) -> [(&'static str, u64, u64); 4] {
    [
        ("API server", arrival_ns, timing.at_engine_ns),
        ("queued", timing.at_engine_ns, timing.scheduled_ns),
        ("prefill", timing.scheduled_ns, timing.first_token_ns),
        ("decode", timing.first_token_ns, timing.finish_ns),
    ]
}

fn line(file: &mut BufWriter<File>, event: &Event<'_>) -> io::Result<()> {
    serde_json::to_writer(file, event).map_err(io::Error::from)
}
