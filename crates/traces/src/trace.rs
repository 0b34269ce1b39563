//! A trace, and how it is read.

use rooflut_error::{Error, conflict, key};

use crate::arrival_source::ArrivalSource;
use crate::column_names::ColumnNames;
use crate::detect;
use crate::error::{content, contents};
use crate::extent::{Extent, Part, Speed};
use crate::foreign;
use crate::format::Format;
use crate::inference_perf::Report;
use crate::input::Input;
use crate::keyed::Keyed;
use crate::left_out::LeftOut;
use crate::mooncake::Blocks;
use crate::options::{Condition, Options};
use crate::own::{named_fields, own_fields};
use crate::plain::PlainColumns;
use crate::replay::Replay;
use crate::rows::{Notes, Rows};
use crate::span::Span;
use crate::table::{Header, Table};
use crate::unit::LATEST_NS;
use crate::vllm::Results;

/// A trace that has been read once and found in order.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Trace {
    /// The format of the file.
    pub format: Format,
    /// The names of its columns or keys, if the user gave them.
    pub columns: Option<ColumnNames>,
    /// The conditions that its rows met.
    pub conditions: Vec<Condition>,
    /// The number of its requests.
    pub requests: u64,
    /// The number of requests that were left out, by reason.
    pub left_out: Vec<(LeftOut, u64)>,
    /// The origin of the arrivals.
    pub arrivals: ArrivalSource,
    /// Unread columns or keys of the file, except the ones that belong to the format. For JSON, the keys of the first
    /// request.
    pub ignored: Vec<String>,
    /// The number of requests with images. The images are not modelled.
    pub with_images: u64,
    /// Whether the requests have priorities.
    pub has_priorities: bool,
    /// The part of the file that is replayed.
    pub extent: Extent,
    pub(crate) speed: Speed,
    pub(crate) input: Input,
    pub(crate) span: Span,
}

/// Reads a trace once to check it; [`Trace::replay`] reads it again.
///
/// # Errors
///
/// The line that cannot be read, or what the file lacks. A file without requests is an error. Messages call
/// [`Options::conditions`] `where` and [`Options::format`] `trace_format`, as scenarios do.
///
/// ```
/// use rooflut_traces::{Options, read};
/// let text = "arrival_ms,prompt_tokens,output_tokens\n0,x,1\n";
/// let error = read(text.as_bytes(), &Options::default());
/// assert_eq!(
///     error.map(|_| ()).map_err(|error| error.to_string()),
///     Err("line 2: prompt_tokens: expected a whole number of tokens, found \"x\"; correct this line".into())
/// );
/// ```
pub fn read(input: impl Into<Input>, options: &Options<'_>) -> Result<Trace, Error> {
    let input = input.into();
    let head = input.head()?;
    foreign::check_bytes(&head)?;
    let format = match (options.format, options.columns) {
        (None, None) => {
            let format = Format::detect(&head)?;
            detect::check_columns(format, &head).map_err(|error| error.at_line(input.line_at(0)))?;
            format
        }
        (None, Some(_)) => detect::named(&head),
        (Some(Format::Columns | Format::Keys), None) => {
            return Err(contents(format!("the format needs the names of its columns; add {}", key("columns"))));
        }
        (Some(format), None) => format,
        (Some(_), Some(_)) => return Err(conflict("columns", "trace_format", None)),
    };
    drop(head);
    let (layout, extent) =
        (Layout { format, columns: options.columns, conditions: options.conditions }, options.extent);
    let (mut notes, mut requests, mut span) = scan(&input, layout, (Extent { duration_ns: None, ..extent }, 0))?;
    let arrivals = notes.arrivals.unwrap_or(ArrivalSource::Recorded);
    let start_ns = if format == Format::Own || arrivals != ArrivalSource::Recorded { 0 } else { span.start_ns };
    if extent.duration_ns.is_some() && requests > 0 {
        if span.feeds_back {
            let text = format!(
                "{} needs the arrival of each request, found requests that arrive after the end of others; use {}",
                key("trace_duration"),
                key("trace_requests")
            );
            return Err(contents(text));
        }
        (notes, requests, span) = scan(&input, layout, (extent, start_ns))?;
        if requests == 0 {
            let text = format!("no request arrives within {}; use a longer time", key("trace_duration"));
            return Err(contents(text));
        }
    }
    span.start_ns = start_ns;
    let left_out = notes.left_out.into_counts();
    if requests == 0 {
        let reasons = left_out.iter().map(|(reason, count)| format!("{count} {reason}"));
        let text = match reasons.collect::<Vec<_>>().join(", ") {
            none if none.is_empty() && format.is_csv() => "no rows; expected one line per request".to_owned(),
            none if none.is_empty() => format!("no requests; expected {}", content(format)),
            reasons => format!("expected a request that was served, found none: {reasons}; use another file"),
        };
        return Err(contents(text));
    }
    Ok(Trace {
        format,
        columns: options.columns.cloned(),
        conditions: options.conditions.to_vec(),
        requests,
        left_out,
        arrivals,
        ignored: notes.ignored,
        with_images: notes.with_images,
        has_priorities: notes.has_priorities,
        extent,
        speed: Speed(1.0),
        input,
        span,
    })
}

impl Trace {
    /// Returns a source of the requests in order of arrival. The source reads the file again.
    ///
    /// # Errors
    ///
    /// A failure to read the file.
    pub fn replay(&self) -> Result<Replay, Error> {
        let Trace { format, columns, conditions, .. } = self;
        let layout = Layout { format: *format, columns: columns.as_ref(), conditions };
        let rows = rows(&self.input, layout, &mut Notes::default())?;
        let rows = Part::new(rows, self.extent, self.span.start_ns);
        let tokens_per_id = Blocks::tokens_per_id(self.format);
        Ok(Replay::new(Box::new(rows), (self.requests, self.span, self.speed), tokens_per_id))
    }

    /// Returns the trace at `speed` times its speed: arrivals, and pauses after the end of other requests, come after
    /// 1 / `speed` of their time.
    ///
    /// # Errors
    ///
    /// A speed that is not positive and finite, or with which an arrival is beyond the range of the clock, and requests
    /// that all arrive at once.
    pub fn at_speed(&self, speed: f64) -> Result<Trace, Error> {
        if !(speed > 0.0 && speed.is_finite()) {
            return Err(contents(format!("{}: expected a positive, finite number, found {speed}", key("trace_speed"))));
        }
        if self.arrivals == ArrivalSource::AtOnce {
            let text = format!("{} has no effect, as all requests arrive at once; leave it out", key("trace_speed"));
            return Err(contents(text));
        }
        let last_ns = self.span.end_ns.saturating_sub(self.span.start_ns);
        if last_ns as f64 / speed > LATEST_NS as f64 {
            let text = format!(
                "{}: at {speed} the last request arrives after 292 years; use a higher speed",
                key("trace_speed")
            );
            return Err(contents(text));
        }
        Ok(Trace { speed: Speed(speed), ..self.clone() })
    }

    /// Returns the speed of the replay over that of the file.
    pub fn speed(&self) -> f64 {
        self.speed.0
    }

    /// Returns the requests per second of the replay, from the point that is 0 in the simulation to the last arrival;
    /// `None` if no time passes, or requests arrive after the end of others.
    pub fn rate(&self) -> Option<f64> {
        let span_ns = self.span.end_ns.saturating_sub(self.span.start_ns);
        let is_known = span_ns > 0 && !self.span.feeds_back;
        is_known.then(|| self.requests as f64 * 1e9 / span_ns as f64 * self.speed.0)
    }
}

/// How a file is read.
#[derive(Clone, Copy)]
struct Layout<'t> {
    format: Format,
    columns: Option<&'t ColumnNames>,
    conditions: &'t [Condition],
}

/// Reads a part of a file, which begins at `start_ns`; returns its notes, the number of its requests and their order.
fn scan(input: &Input, layout: Layout<'_>, (extent, start_ns): (Extent, u64)) -> Result<(Notes, u64, Span), Error> {
    let mut notes = Notes::default();
    let mut rows = Part::new(rows(input, layout, &mut notes)?, extent, start_ns);
    let (mut requests, mut span, mut clock) = (0, Span::default(), None);
    while let Some(row) = rows.next(&mut notes)? {
        requests += 1;
        span.add(&row, &mut clock);
    }
    Ok((notes, requests, span))
}

/// Opens the rows of a file.
fn rows(input: &Input, layout: Layout<'_>, notes: &mut Notes) -> Result<Box<dyn Rows>, Error> {
    let Layout { format, columns, conditions } = layout;
    if !format.is_csv() && !conditions.is_empty() {
        let text = format!("{} selects rows of CSV, found JSON ({format}); leave it out", key("where"));
        return Err(contents(text));
    }
    if let Some(columns) = columns {
        return Ok(match format.is_csv() {
            true => Box::new(Table::open(input, format, conditions, |header| named_fields(columns, header))?),
            false => Box::new(Keyed::open(input, columns)?),
        });
    }
    Ok(match format {
        Format::Mooncake | Format::QwenBailian => Box::new(Blocks::open(input, format)?),
        Format::InferencePerf => Box::new(Report::open(input)?),
        Format::Vllm => {
            let results = Results::open(input)?;
            notes.arrivals = Some(results.arrivals);
            Box::new(results)
        }
        Format::Own => Box::new(Table::open(input, format, conditions, own_fields)?),
        _ => {
            let columns = |header: &Header<'_>| PlainColumns::find(format, header);
            Box::new(Table::open(input, format, conditions, columns)?)
        }
    })
}
