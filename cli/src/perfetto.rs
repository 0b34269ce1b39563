//! A timeline of a run in the Chrome trace event format, which ui.perfetto.dev opens: a process for each
//! server with a track of steps, counters, and its requests with their phases. Written while the simulation goes
//! on, one event per line; those of a request when it has left, so that lines are not in the order of time
//! (readers sort).
//!
//! Format: "Trace Event Format", docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU

use std::collections::BTreeMap;
use std::io::{self, Write};

use rooflut::sim::{Observer, RequestRecord, StepRecord};

use crate::error::Error;
use crate::pending_file::PendingFile;
use crate::perfetto_event::{Args, Event, Of};

/// A timeline.
pub(crate) struct Perfetto {
    file: PendingFile,
    /// What goes before the next event.
    separator: &'static str,
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
    /// Writes to `file`; `names` are those of the servers, in the order of their replicas.
    pub(crate) fn new(mut file: PendingFile, names: &[String]) -> Perfetto {
        file.write(|file| write!(file, "{{\"displayTimeUnit\":\"ms\",\"traceEvents\":["));
        let mut timeline = Perfetto {
            file,
            separator: "",
            servers: BTreeMap::new(),
            router: 0,
        };
        for (replica, name) in (0..).zip(names) {
            timeline.write(&Event::metadata(replica, "process_name", name));
            timeline.write(&Event::metadata(replica, "thread_name", "steps"));
            timeline.router = replica + 1;
        }
        match timeline.router {
            // A server alone sends requests away itself.
            0 | 1 => timeline.router = 0,
            router => timeline.write(&Event::metadata(router, "process_name", "router")),
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
        let separator = std::mem::replace(&mut self.separator, ",");
        self.file.write(|file| {
            writeln!(file, "{separator}")?;
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

    /// Writes what a request goes through on a server: phases one after the other, each with its end.
    fn stay(
        &mut self,
        of: Of,
        record: &RequestRecord,
        begin_ns: u64,
        phases: &[(&'static str, u64)],
    ) {
        let args = Args::request(of.place, record);
        self.write(&Event::begin(of, "request", begin_ns).with(args));
        let mut now_ns = begin_ns;
        for &(name, end_ns) in phases {
            if now_ns < end_ns {
                self.write(&Event::begin(of, name, now_ns));
                self.write(&Event::end(of, name, end_ns));
                now_ns = end_ns;
            }
        }
        self.write(&Event::end(of, "request", now_ns));
    }
}

impl Observer for Perfetto {
    fn wants_steps(&self) -> bool {
        true
    }

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

    fn finished(&mut self, place: usize, record: &RequestRecord) {
        let arrival_ns = record.request.arrival_ns;
        let of = |category, replica| Of {
            category,
            replica,
            place,
        };
        let Some(timing) = record.timing() else {
            let (of, args) = (of("request", self.router), Args::request(place, record));
            return self.write(&Event::instant(of, "rejected", arrival_ns, args));
        };
        let (at_engine, queued) = (
            ("API server", timing.at_engine_ns),
            ("queued", timing.scheduled_ns),
        );
        let Some(kv_transfer) = timing.kv_transfer else {
            let phases = [
                at_engine,
                queued,
                ("prefill", timing.first_token_ns),
                ("decode", timing.finish_ns),
            ];
            return self.stay(of("request", timing.replica), record, arrival_ns, &phases);
        };
        let prefill = [at_engine, queued, ("prefill", kv_transfer.prefilled_ns)];
        let server = of("request", kv_transfer.prefill_replica);
        self.stay(server, record, arrival_ns, &prefill);
        // Its first token is computed by its first step there, which is none of a prompt.
        let decode = [
            ("KV transfer", kv_transfer.delivered_ns),
            ("queued for decode", kv_transfer.scheduled_ns),
            ("decode", timing.finish_ns),
        ];
        // In a category of its own, for readers look for the events of a request in one process only.
        let server = of("handed over", timing.replica);
        self.stay(server, record, kv_transfer.prefilled_ns, &decode);
    }
}
