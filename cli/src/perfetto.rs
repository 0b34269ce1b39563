//! A timeline of a run in the Chrome trace event format, which ui.perfetto.dev opens: a process for each
//! replica with a track of steps, counters, and its requests with their phases. Written while the simulation goes on, one event per line;
//! those of a request when it has left, so that lines are not in the order of time (readers sort).
//!
//! Format: "Trace Event Format", docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU

use std::collections::BTreeMap;
use std::io::{self, Write};

use rooflut::sim::{Observer, Outcome, RequestRecord, StepRecord, Timing};

use crate::error::Error;
use crate::pending_file::PendingFile;
use crate::perfetto_event::{Args, Event, Of};

/// A timeline.
pub(crate) struct Perfetto {
    file: PendingFile,
    /// What is written of each replica.
    servers: BTreeMap<u32, Server>,
    /// A replica for those that no replica serves.
    router: u32,
}

/// What is written of a replica.
#[derive(Clone, Copy, Default)]
struct Server {
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
    /// Writes to `file`; `title` says what is run, on so many replicas.
    pub(crate) fn new(mut file: PendingFile, title: &str, replicas: u32) -> Perfetto {
        let process = |replica| match replicas {
            1 => title.to_owned(),
            _ => format!("{title}, replica {replica}"),
        };
        file.write(|file| {
            writeln!(file, "{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")?;
            // Every event but the first follows a comma.
            let name = process(0);
            let first = Event::metadata(0, "process_name", &name);
            serde_json::to_writer(file, &first).map_err(io::Error::from)
        });
        let mut timeline = Perfetto {
            file,
            servers: BTreeMap::new(),
            router: if replicas > 1 { replicas } else { 0 },
        };
        timeline.write(&Event::metadata(0, "thread_name", "steps"));
        for replica in 1..replicas {
            timeline.write(&Event::metadata(replica, "process_name", &process(replica)));
            timeline.write(&Event::metadata(replica, "thread_name", "steps"));
        }
        if replicas > 1 {
            timeline.write(&Event::metadata(replicas, "process_name", "router"));
        }
        timeline
    }

    /// The simulation has ended.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        for (replica, server) in self.servers.clone() {
            self.count(replica, server.end_ns, Counters::default());
        }
        self.file.write(|file| writeln!(file, "\n]}}"));
        self.file.finish()
    }

    fn write(&mut self, event: &Event<'_>) {
        self.file.write(|file| {
            writeln!(file, ",")?;
            serde_json::to_writer(file, event).map_err(io::Error::from)
        });
    }

    /// Writes the counters that have changed.
    fn count(&mut self, replica: u32, at_ns: u64, now: Counters) {
        let server = self.servers.entry(replica).or_default();
        let shown = std::mem::replace(&mut server.counters, now);
        let of = |name, args| Event::counter(replica, name, at_ns, args);
        if shown.running != now.running {
            let requests = now.running;
            self.write(&of("running", Args::Requests { requests }));
        }
        if shown.waiting != now.waiting {
            let requests = now.waiting;
            self.write(&of("waiting", Args::Requests { requests }));
        }
        if shown.kv_blocks != now.kv_blocks {
            let blocks = now.kv_blocks;
            self.write(&of("KV", Args::Blocks { blocks }));
        }
    }
}

impl Observer for Perfetto {
    const EACH_STEP: bool = true;

    fn step(&mut self, step: &StepRecord) {
        let server = self.servers.entry(step.replica).or_default();
        let end_ns = step.start_ns.saturating_add(step.duration_ns);
        let last_ns = std::mem::replace(&mut server.end_ns, end_ns);
        if step.start_ns > last_ns {
            // Nobody was there in between.
            self.count(step.replica, last_ns, Counters::default());
        }
        let now = Counters {
            running: step.running,
            waiting: step.waiting,
            kv_blocks: step.kv_blocks_used,
        };
        self.count(step.replica, step.start_ns, now);
        self.write(&Event::step(step));
    }

    fn left(&mut self, place: usize, record: &RequestRecord) {
        let arrival_ns = record.request.arrival_ns;
        let args = Args::request(place, record);
        let timing = match &record.outcome {
            Outcome::Completed(timing) => timing,
            Outcome::Rejected(_) => {
                let of = Of {
                    replica: self.router,
                    place,
                };
                return self.write(&Event::instant(of, "rejected", arrival_ns, args));
            }
        };
        let of = Of {
            replica: timing.replica,
            place,
        };
        self.write(&Event::begin(of, "request", arrival_ns).with(args));
        for (name, begin_ns, end_ns) in phases(arrival_ns, timing) {
            if begin_ns < end_ns {
                self.write(&Event::begin(of, name, begin_ns));
                self.write(&Event::end(of, name, end_ns));
            }
        }
        self.write(&Event::end(of, "request", timing.finish_ns));
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
