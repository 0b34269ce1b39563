//! What a trace is read into.

use rooflut::sim::Request;

use crate::arrivals::count_from_earliest;
use crate::azure::AzureColumns;
use crate::burst_gpt::BurstGptColumns;
use crate::error::{Problem, TraceError};
use crate::format::Format;
use crate::json::Json;
use crate::left_out::{LeftOut, Tally};
use crate::own::OwnColumns;
use crate::{inference_perf, mooncake, table, vllm};

/// Tokens of a block that an id of [`Trace::listed_ids`] stands for.
pub const LISTED_BLOCK_TOKENS: u32 = 512;

/// The requests of a file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Trace {
    /// The requests, in the order of the file.
    pub requests: Vec<Request>,
    /// The ids that [`Content::TraceBlocks`](rooflut::sim::Content::TraceBlocks) points into, each of a block of
    /// [`LISTED_BLOCK_TOKENS`] tokens; the last block of a prompt may be shorter.
    pub listed_ids: Vec<u64>,
    /// What was left out, by reason, and how many requests.
    pub left_out: Vec<(LeftOut, u64)>,
    /// How the file was read.
    pub format: Format,
    /// Where the arrivals come from.
    pub arrivals: ArrivalSource,
}

/// Where the arrivals of a trace come from.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum ArrivalSource {
    /// The file has one per request.
    Recorded,
    /// The file has only the rate of a Poisson process, of which this is another draw: seed 0, scaled
    /// so that the last request arrives at requests / rate, as vLLM's benchmark does.
    Poisson {
        /// Requests per second.
        requests_per_s: f64,
    },
    /// The file says that all were sent at the start.
    AtOnce,
}

/// How to read a file.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'o> {
    /// The format, if it is not to be recognised.
    pub format: Option<Format>,
    /// What a row has to fulfil, all of it; only for CSV.
    pub conditions: &'o [Condition],
}

/// A condition on the rows of a CSV.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Name of the column.
    pub column: String,
    /// What it has to contain.
    pub value: String,
}

/// The requests of a file's `bytes`.
///
/// # Errors
///
/// [`TraceError`] says which line is not what it should be, or what the file lacks. A file without a
/// request is an error.
///
/// ```
/// use rooflut_traces::{Options, read};
/// let error = read(b"arrival_ms,prompt_tokens,output_tokens\n0,x,1\n", &Options::default());
/// assert_eq!(
///     error.map_err(|error| error.to_string()),
///     Err("line 2: prompt_tokens: expected a whole number of tokens, found \"x\"; correct this line".into())
/// );
/// ```
pub fn read(bytes: &[u8], options: &Options<'_>) -> Result<Trace, TraceError> {
    let format = match options.format {
        Some(format) => format,
        None => Format::detect(bytes)?,
    };
    if !format.is_csv() && !options.conditions.is_empty() {
        return Err(Problem::ConditionOnJson { format }.into());
    }
    let conditions = options.conditions;
    let parts = match format {
        Format::Own => table::read::<OwnColumns>(bytes, conditions),
        Format::Azure => table::read::<AzureColumns>(bytes, conditions),
        Format::BurstGpt => table::read::<BurstGptColumns>(bytes, conditions),
        Format::Mooncake => mooncake::read(&Json::try_new(bytes)?),
        Format::Vllm => vllm::read(&Json::try_new(bytes)?),
        Format::InferencePerf => inference_perf::read(&Json::try_new(bytes)?),
    }?;
    parts.into_trace(format)
}

/// What a reader of a format has found so far.
#[derive(Default)]
pub(crate) struct Parts {
    pub(crate) requests: Vec<Request>,
    pub(crate) listed_ids: Vec<u64>,
    pub(crate) left_out: Tally,
    /// Recorded if there is nothing else.
    pub(crate) arrivals: Option<ArrivalSource>,
}

impl Parts {
    /// Room for the requests of `bytes`, at most one per line, so that they need not move as they grow.
    ///
    /// `shortest` is the length of the shortest line of a request: a file of line ends alone must not
    /// ask for fifty times its size.
    pub(crate) fn for_lines(bytes: &[u8], shortest: usize) -> Parts {
        let lines = 1 + bytes.iter().filter(|&&byte| byte == b'\n').count();
        let mut parts = Parts::default();
        // If there is not as much, growing may still do.
        let _ = parts
            .requests
            .try_reserve_exact(lines.min(1 + bytes.len() / shortest));
        parts
    }

    fn into_trace(mut self, format: Format) -> Result<Trace, TraceError> {
        let left_out = self.left_out.into_counts();
        let arrivals = self.arrivals.unwrap_or(ArrivalSource::Recorded);
        if format != Format::Own && arrivals == ArrivalSource::Recorded {
            count_from_earliest(&mut self.requests);
        }
        if self.requests.is_empty() {
            return Err(match left_out.is_empty() {
                true => Problem::NoRequests { format }.into(),
                false => Problem::AllLeftOut { left_out }.into(),
            });
        }
        Ok(Trace {
            requests: self.requests,
            listed_ids: self.listed_ids,
            left_out,
            format,
            arrivals,
        })
    }
}
