//! BurstGPT (<https://github.com/HPMLL/BurstGPT>).

use rooflut::sim::Request;

use crate::cell::{Unit, time_ns, tokens};
use crate::error::{Problem, TraceError};
use crate::format::Format;
use crate::left_out::LeftOut;
use crate::table::{Columns, Entry, Header, Row};

/// Indices of the columns.
pub(crate) struct BurstGptColumns {
    timestamp: usize,
    request_tokens: usize,
    response_tokens: usize,
}

impl Columns for BurstGptColumns {
    fn find(header: &Header<'_>) -> Result<BurstGptColumns, TraceError> {
        let required = |name| header.required(Format::BurstGpt, name);
        Ok(BurstGptColumns {
            timestamp: required("Timestamp")?,
            request_tokens: required("Request tokens")?,
            response_tokens: required("Response tokens")?,
        })
    }

    fn entry(&mut self, row: &Row<'_>) -> Result<Entry, Problem> {
        let request = Request::new(
            tokens("Request tokens", row.cell(self.request_tokens))?,
            tokens("Response tokens", row.cell(self.response_tokens))?,
        )
        .at_ns(time_ns(
            "Timestamp",
            row.cell(self.timestamp),
            Unit::Seconds,
        )?);
        Ok(match request.output_tokens {
            0 => Entry::LeftOut(LeftOut::NoResponse),
            _ => Entry::Request(request),
        })
    }
}
