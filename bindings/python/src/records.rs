//! Records of a run as columns.

use rooflut::sim::{KvTransfer, Observer, RequestRecord, StepRecord, Timing};
use rooflut::units::Seconds;
use rooflut_report::outcome_name;

use crate::columns::{Column, Columns, columns};

/// Calls a macro with the fields of a step.
macro_rules! step_fields {
    ($macro:ident) => {
        $macro!(
            replica start_ns duration_ns prefill_chunks prefill_tokens decode_requests late_decodes kv_tokens
            overrun_requests drafted_tokens accepted_tokens yielded_tokens running waiting kv_blocks_used preempted
        )
    };
}

pub(crate) use step_fields;

/// The steps of a run, in the order of their ends.
#[derive(Default)]
pub(crate) struct Steps(Vec<StepRecord>);

impl Observer for Steps {
    fn wants_steps(&self) -> bool {
        true
    }

    fn step(&mut self, step: &StepRecord) {
        self.0.push(*step);
    }
}

impl Steps {
    pub(crate) fn columns(self) -> Columns {
        macro_rules! of {
            ($($field:ident)*) => { columns!(self.0; $($field)*) };
        }
        step_fields!(of)
    }
}

/// The requests of a run.
#[derive(Default)]
pub(crate) struct Requests(Vec<(usize, RequestRecord)>);

impl Observer for Requests {
    fn finished(&mut self, index: usize, record: &RequestRecord) {
        self.0.push((index, *record));
    }
}

impl Requests {
    /// Returns the columns, in the order of the load. A time that a request does not have is NaN, and a replica or a
    /// point in time -1.
    pub(crate) fn columns(mut self) -> Columns {
        self.0.sort_unstable_by_key(|(index, _)| *index);
        let indices = self.0.iter().map(|(index, _)| *index as u64).collect();
        let mut columns: Columns = vec![("request", Column::U64(indices))];
        let requests: Vec<_> = self.0.iter().map(|(_, record)| record.request).collect();
        columns.extend(columns!(requests;
            arrival_ns prompt_tokens output_tokens cached_prompt_tokens priority));
        let outcomes = self.0.iter().map(|(_, record)| outcome_name(&record.outcome));
        columns.push(("outcome", Column::Name(outcomes.collect())));
        columns.push(("queue_ms", self.times(RequestRecord::queue)));
        columns.push(("ttft_ms", self.times(RequestRecord::ttft)));
        columns.push(("tpot_ms", self.times(RequestRecord::tpot)));
        columns.push(("e2e_ms", self.times(RequestRecord::e2e)));
        let preemptions = self.0.iter().map(|(_, record)| record.timing().map_or(0, |t| t.preemptions));
        columns.push(("preemptions", Column::U32(preemptions.collect())));
        columns.push(("replica", self.timings(|timing| Some(timing.replica.into()))));
        for (name, of) in
            [("first_token_ns", (|t| t.first_token_ns) as fn(&Timing) -> u64), ("finish_ns", |t| t.finish_ns)]
        {
            columns.push((name, self.timings(|timing| signed(of(timing)))));
        }
        columns.push(("prefill_replica", self.transfers(|transfer| Some(transfer.prefill_replica.into()))));
        columns.push(("prefilled_ns", self.transfers(|transfer| signed(transfer.prefilled_ns))));
        columns.push(("delivered_ns", self.transfers(|transfer| signed(transfer.delivered_ns))));
        columns.push(("decode_scheduled_ns", self.transfers(|transfer| signed(transfer.scheduled_ns))));
        columns
    }

    fn times(&self, of: fn(&RequestRecord) -> Option<Seconds>) -> Column {
        let times = self.0.iter().map(|(_, record)| of(record).map_or(f64::NAN, Seconds::ms));
        Column::F64(times.collect())
    }

    fn timings(&self, of: impl Fn(&Timing) -> Option<i64>) -> Column {
        let of = |record: &RequestRecord| record.timing().and_then(&of);
        Column::I64(self.0.iter().map(|(_, record)| of(record).unwrap_or(-1)).collect())
    }

    fn transfers(&self, of: fn(&KvTransfer) -> Option<i64>) -> Column {
        self.timings(|timing| timing.kv_transfer.as_ref().and_then(of))
    }
}

/// Returns a point in time as a signed number; the clock ends before the largest.
fn signed(at_ns: u64) -> Option<i64> {
    at_ns.try_into().ok()
}
