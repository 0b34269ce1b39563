//! A timeline for ui.perfetto.dev.

mod event;

use std::collections::BTreeMap;
use std::io::{self, Write};

use rooflut::sim::{Observer, RequestRecord, StepRecord};

use crate::sink::Sink;
use event::{Args, Event, EventId};

/// Writes a timeline in the Chrome trace event format, which ui.perfetto.dev opens: for each server a process
/// with a track of steps, counters, and its requests with their phases.
///
/// Events are written while the simulation runs, one per line (about 200 bytes a step, 1 kB a request). The events of a
/// request are written when it completes, so lines are not in the order of time. Readers sort the lines.
///
/// Format: "Trace Event Format", docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
pub struct Timeline<W> {
    out: Sink<W>,
    /// Written before the next event.
    separator: &'static str,
    servers: BTreeMap<u32, Server>,
    /// The process of rejected requests, which no replica serves.
    router: u32,
}

/// State of a server's tracks.
#[derive(Clone, Copy, Default)]
struct Server {
    /// End of the last step.
    end_ns: u64,
    /// Values written last.
    counters: Counters,
}

/// Values of the counter tracks.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Counters {
    running: u32,
    waiting: u32,
    kv_blocks: u32,
}

impl<W: Write> Timeline<W> {
    /// Begins a timeline on `out`; `names` are the names of the servers, in the order of their replicas.
    pub fn new(out: W, names: &[String]) -> Timeline<W> {
        let mut out = Sink::new(out);
        out.write(|out| write!(out, "{{\"displayTimeUnit\":\"ms\",\"traceEvents\":["));
        let mut timeline = Timeline { out, separator: "", servers: BTreeMap::new(), router: 0 };
        for (replica, name) in (0..).zip(names) {
            timeline.write(&Event::metadata(replica, "process_name", name));
            timeline.write(&Event::metadata(replica, "thread_name", "steps"));
            timeline.router = replica + 1;
        }
        match timeline.router {
            // A single server rejects requests itself.
            0 | 1 => timeline.router = 0,
            router => timeline.write(&Event::metadata(router, "process_name", "router")),
        }
        timeline
    }

    /// Ends the timeline, flushes the writer and returns it.
    ///
    /// # Errors
    /// The first failure of the writer.
    pub fn finish(mut self) -> io::Result<W> {
        for (replica, server) in self.servers.clone() {
            self.count(replica, server.end_ns, Counters::default());
        }
        self.out.write(|out| writeln!(out, "\n]}}"));
        self.out.finish()
    }

    fn write(&mut self, event: &Event<'_>) {
        let separator = std::mem::replace(&mut self.separator, ",");
        self.out.write(|out| {
            writeln!(out, "{separator}")?;
            serde_json::to_writer(out, event).map_err(io::Error::from)
        });
    }

    /// Writes the counters that have changed.
    fn count(&mut self, replica: u32, at_ns: u64, now: Counters) {
        let server = self.servers.entry(replica).or_default();
        let shown = std::mem::replace(&mut server.counters, now);
        let counter = |name, args| Event::counter(replica, name, at_ns, args);
        if shown.running != now.running {
            let requests = now.running;
            self.write(&counter("running", Args::Requests { requests }));
        }
        if shown.waiting != now.waiting {
            let requests = now.waiting;
            self.write(&counter("waiting", Args::Requests { requests }));
        }
        if shown.kv_blocks != now.kv_blocks {
            let blocks = now.kv_blocks;
            self.write(&counter("KV", Args::Blocks { blocks }));
        }
    }

    /// Writes the phases of a request on a server, each from the end of the one before to its own end.
    fn stay(&mut self, id: EventId, record: &RequestRecord, begin_ns: u64, phases: &[(&'static str, u64)]) {
        let args = Args::request(id.request, record);
        self.write(&Event::begin(id, "request", begin_ns).with(args));
        let mut now_ns = begin_ns;
        for &(name, end_ns) in phases {
            if now_ns < end_ns {
                self.write(&Event::begin(id, name, now_ns));
                self.write(&Event::end(id, name, end_ns));
                now_ns = end_ns;
            }
        }
        self.write(&Event::end(id, "request", now_ns));
    }
}

impl<W: Write> Observer for Timeline<W> {
    fn wants_steps(&self) -> bool {
        true
    }

    fn step(&mut self, step: &StepRecord) {
        let server = self.servers.entry(step.replica).or_default();
        let end_ns = step.start_ns.saturating_add(step.duration_ns);
        let last_ns = std::mem::replace(&mut server.end_ns, end_ns);
        if step.start_ns > last_ns {
            // The server was idle in between.
            self.count(step.replica, last_ns, Counters::default());
        }
        let now = Counters { running: step.running, waiting: step.waiting, kv_blocks: step.kv_blocks_used };
        self.count(step.replica, step.start_ns, now);
        self.write(&Event::step(step));
    }

    fn finished(&mut self, request: usize, record: &RequestRecord) {
        let arrival_ns = record.request.arrival_ns;
        let id = |category, replica| EventId { category, replica, request };
        let Some(timing) = record.timing() else {
            let (id, args) = (id("request", self.router), Args::request(request, record));
            return self.write(&Event::instant(id, "rejected", arrival_ns, args));
        };
        let (at_engine, queued) = (("API server", timing.at_engine_ns), ("queued", timing.scheduled_ns));
        let answered_ns = timing.finish_ns.saturating_add(timing.api_output_ns);
        let output = ("API server output", answered_ns);
        let Some(transfer) = timing.kv_transfer else {
            let phases = [at_engine, queued, ("prefill", timing.first_token_ns), ("decode", timing.finish_ns), output];
            return self.stay(id("request", timing.replica), record, arrival_ns, &phases);
        };
        let prefill = [at_engine, queued, ("prefill", transfer.prefilled_ns)];
        let server = id("request", transfer.prefill_replica);
        self.stay(server, record, arrival_ns, &prefill);
        // The first step there computes the first token; it is a decode step.
        let decode = [
            ("KV transfer", transfer.delivered_ns),
            ("queued for decode", transfer.scheduled_ns),
            ("decode", timing.finish_ns),
            output,
        ];
        // A category of its own: readers expect the events of one category and id in one process.
        let server = id("transferred request", timing.replica);
        self.stay(server, record, transfer.prefilled_ns, &decode);
    }
}
