//! Reads a trace of any format.

use crate::azure::AzureColumns;
use crate::burst_gpt::BurstGptColumns;
use crate::error::{Problem, TraceError};
use crate::format::Format;
use crate::json::Json;
use crate::own::OwnColumns;
use crate::trace::{Options, Trace};
use crate::{inference_perf, mooncake, table, vllm};

/// Reads the requests of a file.
///
/// # Errors
///
/// [`TraceError`] names the line that cannot be read, or what the file lacks. A file without requests is
/// an error.
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
    let builder = match format {
        Format::Own => table::read::<OwnColumns>(bytes, conditions),
        Format::Azure => table::read::<AzureColumns>(bytes, conditions),
        Format::BurstGpt => table::read::<BurstGptColumns>(bytes, conditions),
        Format::Mooncake => mooncake::read(&Json::try_new(bytes)?),
        Format::Vllm => vllm::read(&Json::try_new(bytes)?),
        Format::InferencePerf => inference_perf::read(&Json::try_new(bytes)?),
    }?;
    builder.build(format)
}
