//! The requests of a trace in order of arrival.

use std::collections::{BTreeMap, HashMap};

use rooflut::sim::load::Source;
use rooflut::sim::{Content, Request};
use rooflut_error::Error;

use crate::error::contents;
use crate::extent::Speed;
use crate::rows::{Extra, Notes, Row, Rows};
use crate::span::Span;
use crate::unit::LATEST_NS;

/// A source over the requests of a trace; the index of a request is its place in the file, from 0.
///
/// Reads the file as the simulation goes on. Memory grows with the time by which requests are out of order, and with
/// the ids of the requests in service; if requests have a delay, with the number of all requests.
///
/// A file that changes or cannot be read any more ends the requests; [`Replay::finish`] reports it.
pub struct Replay {
    rows: Box<dyn Rows>,
    notes: Notes,
    span: Span,
    speed: Speed,
    /// Requests in the file, and those read so far.
    total: u64,
    read: u64,
    /// The latest arrival read so far.
    latest_ns: u64,
    /// Why no more are read; `Ok` at the end of the file.
    end: Option<Result<(), Error>>,
    /// Requests that were read and have not been taken, by arrival on the clock of the simulation and index.
    window: BTreeMap<(u64, usize), Row>,
    turns: Turns,
    blocks: BlockIds,
}

/// Requests that arrive after the end of others.
#[derive(Debug, Default)]
struct Turns {
    /// The index of the last request of each session that was read.
    last: HashMap<u64, usize>,
    /// Requests with their indices, by the index of the one that they wait for.
    after: HashMap<usize, (usize, Row)>,
}

/// The ids of the blocks of requests that have been taken and have not finished.
#[derive(Debug, Default)]
struct BlockIds {
    tokens_per_id: u32,
    /// Lists of ids; [`Content::TraceBlocks`] has the index of a list.
    lists: Vec<Vec<u64>>,
    /// Indices of lists that are not used.
    free: Vec<u32>,
}

impl Replay {
    pub(crate) fn new(rows: Box<dyn Rows>, (total, mut span, speed): (u64, Span, Speed), tokens_per_id: u32) -> Replay {
        // A nanosecond more for the rounding of two arrivals.
        span.lateness_ns = match span.lateness_ns {
            0 | u64::MAX => span.lateness_ns,
            late_ns => speed.replayed_ns(late_ns) + 1,
        };
        Replay {
            rows,
            notes: Notes::default(),
            span,
            speed,
            total,
            read: 0,
            latest_ns: 0,
            end: None,
            window: BTreeMap::new(),
            turns: Turns::default(),
            blocks: BlockIds { tokens_per_id, ..BlockIds::default() },
        }
    }

    /// Ends the replay.
    ///
    /// # Errors
    ///
    /// Why the requests ended before the end of the trace.
    pub fn finish(self) -> Result<(), Error> {
        self.end.unwrap_or(Ok(()))
    }

    /// Reads until the next request is known: until none in the rest of the file can come before it.
    fn fill(&mut self) {
        while self.end.is_none() && !self.knows_next() {
            match self.rows.next(&mut self.notes) {
                Ok(Some(row)) => self.add(row),
                Ok(None) if self.read == self.total => self.end = Some(Ok(())),
                Ok(None) => {
                    let text = "the file was changed while it was read; run again when it is complete";
                    self.end = Some(Err(contents(text)));
                }
                Err(error) => self.end = Some(Err(error)),
            }
        }
    }

    fn knows_next(&self) -> bool {
        let next = self.window.first_key_value();
        next.is_some_and(|((arrival_ns, _), _)| arrival_ns.saturating_add(self.span.lateness_ns) <= self.latest_ns)
    }

    fn add(&mut self, mut row: Row) {
        let index = self.read as usize;
        self.read += 1;
        let session = row.extra.as_ref().and_then(|extra| extra.session);
        let before = match session {
            Some(session) if self.span.feeds_back => self.turns.last.insert(session, index),
            _ => None,
        };
        match (row.delay_ns(), before) {
            (Some(_), Some(before)) => {
                self.turns.after.insert(before, (index, row));
                return;
            }
            (Some(delay_ns), None) => row.request.arrival_ns = self.speed.replayed_ns(delay_ns),
            (None, _) => {
                let arrival_ns = &mut row.request.arrival_ns;
                *arrival_ns = self.speed.replayed_ns(arrival_ns.saturating_sub(self.span.start_ns));
                self.latest_ns = self.latest_ns.max(*arrival_ns);
            }
        }
        self.window.insert((row.request.arrival_ns, index), row);
    }
}

impl Source for Replay {
    fn next_arrival_ns(&mut self) -> Option<u64> {
        self.fill();
        let ((arrival_ns, _), _) = self.window.first_key_value()?;
        Some(*arrival_ns)
    }

    fn take(&mut self) -> Option<(usize, Request)> {
        self.fill();
        let ((_, index), Row { request, extra }) = self.window.pop_first()?;
        Some((
            index,
            match extra {
                Some(extra) => request.with_content(self.blocks.add(*extra)),
                None => request,
            },
        ))
    }

    fn finished(&mut self, index: usize, request: &Request, now_ns: u64) {
        self.blocks.remove(request.content);
        if let Some((index, mut row)) = self.turns.after.remove(&index) {
            let delay_ns = self.speed.replayed_ns(row.delay_ns().unwrap_or_default());
            let arrival_ns = now_ns.saturating_add(delay_ns).min(LATEST_NS);
            row.request.arrival_ns = arrival_ns;
            self.window.insert((arrival_ns, index), row);
        }
    }

    fn trace_blocks(&self, request: &Request) -> (&[u64], u32) {
        let list = match request.content {
            Content::TraceBlocks { first, .. } => self.blocks.lists.get(first as usize),
            _ => None,
        };
        (list.map_or(&[], Vec::as_slice), self.blocks.tokens_per_id)
    }

    fn total(&self) -> Option<u64> {
        Some(self.total)
    }

    fn feeds_back(&self) -> bool {
        self.span.feeds_back
    }
}

impl BlockIds {
    /// Keeps the ids of a request.
    fn add(&mut self, extra: Extra) -> Content {
        let ids = extra.block_ids;
        let (Ok(count @ 1..), Ok(next)) = (ids.len().try_into(), self.lists.len().try_into()) else {
            return Content::Unique;
        };
        let first = self.free.pop().unwrap_or(next);
        match self.lists.get_mut(first as usize) {
            Some(list) => *list = ids,
            None => self.lists.push(ids),
        }
        Content::TraceBlocks { first, count }
    }

    /// Drops the ids of a request that has finished.
    fn remove(&mut self, content: Content) {
        if let Content::TraceBlocks { first, .. } = content
            && let Some(list) = self.lists.get_mut(first as usize)
        {
            *list = Vec::new();
            self.free.push(first);
        }
    }
}
