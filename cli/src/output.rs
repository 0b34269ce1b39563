//! Output of all commands: numbers, wrapped text, JSON, standard output.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;
use std::sync::OnceLock;

use anstyle::{AnsiColor, Style};
use rooflut::hardware::Dtype;
use rooflut::model::{LayerGroup, ModelSpec};
use rooflut_error::is_printable;
use rooflut_report::Versioned;
use rooflut_scenario::grouped;
pub use rooflut_scenario::plural;
use serde::Serialize;
use serde_json::Value;

use crate::error::Error;

/// The output of a command.
pub struct Answered {
    /// For standard output.
    pub text: String,
    /// An error that the text shows already, as a failed check does.
    pub failure: Option<Error>,
}

impl From<String> for Answered {
    fn from(text: String) -> Answered {
        Answered { text, failure: None }
    }
}

/// Writes `text` to standard output, without its colours where that is not a terminal or does not want them
/// (`--color`, `NO_COLOR`). A closed pipe (`rooflut tables | head -1`) is not an error.
pub fn print(text: &str) -> Result<(), Error> {
    let mut stdout = anstream::stdout().lock();
    let written = stdout.write_all(harmless(text).as_bytes()).and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::writing(Path::new("-"))(error)),
        _ => Ok(()),
    }
}

/// The sequences that answers have: of [`WARNING`], [`LABEL`] and [`HEADING`], and of the titles of help.
const COLOURS: [&str; 5] = ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[4m", "\u{1b}[33m", "\u{1b}[36m"];

/// Returns an answer in which names of files, models and columns do nothing to a terminal: what they have beside printable
/// characters is escaped, in JSON as that has it.
fn harmless(text: &str) -> Cow<'_, str> {
    let is_harmless = |c: char| ['\n', '\t'].contains(&c) || is_printable(c);
    if text.chars().all(is_harmless) {
        return Cow::Borrowed(text);
    }
    let is_json = text.starts_with(['{', '[']);
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let colour = COLOURS.into_iter().find(|colour| rest.starts_with(colour));
        let taken = colour.map_or(c.len_utf8(), str::len);
        match colour {
            Some(colour) => written += colour,
            None if is_harmless(c) => written.push(c),
            None if is_json => written += &format!("\\u{:04x}", u32::from(c)),
            None => written.extend(c.escape_default()),
        }
        rest = rest.get(taken..).unwrap_or_default();
    }
    Cow::Owned(written)
}

/// Writes `text` to standard error, where standard output has something else, and returns what is left to print.
pub(crate) fn print_aside(text: String) -> String {
    // A reader that left has seen enough.
    let _ = anstream::stderr().write_all(harmless(&text).as_bytes());
    String::new()
}

/// Returns `value` as indented JSON, with its keys in the order of its fields after the version of the keys.
pub fn to_json<T: Serialize>(value: &T) -> Result<String, Error> {
    Versioned::new(value).to_json().map_err(|error| Error::new(format!("cannot write the answer as JSON: {error}")))
}

/// Returns an object with the keys of all `parts`, in this order.
pub fn joined<const N: usize>(parts: [Value; N]) -> Value {
    let objects = parts.into_iter().filter_map(|part| match part {
        Value::Object(keys) => Some(keys),
        _ => None,
    });
    Value::Object(objects.flatten().collect())
}

/// Describes the size of a model, its formats and its sampling: `8.03 billion parameters, 16.1 GB of bf16 weights,
/// top-p sampler`.
pub(crate) fn model_size(spec: &ModelSpec, kv_dtype: Dtype) -> String {
    let attention = spec.layers.first().attention_dtype;
    let routed = spec.experts().map(|group| group.ffn_dtype);
    let mut dtypes: Vec<Dtype> = spec.layers.iter().flat_map(LayerGroup::dtypes).collect();
    dtypes.sort_unstable();
    dtypes.dedup();
    let named = dtypes.into_iter().map(|dtype| match Some(dtype) == routed {
        true if dtype != attention => format!("{dtype} (experts)"),
        _ => dtype.to_string(),
    });
    let dtypes = named.collect::<Vec<_>>().join(" and ");
    let kv = match kv_dtype {
        Dtype::Bf16 => String::new(),
        other => format!(", {other} KV cache"),
    };
    format!(
        "{} billion parameters, {} GB of {dtypes} weights{kv}, {} sampler",
        number(spec.weight_params() as f64 / 1e9, 2),
        number(spec.weight_bytes() / 1e9, 1),
        spec.sampler
    )
}

/// Formats a number with its sign, except 0, and one decimal.
pub fn signed(value: f64) -> String {
    let text = number(value, 1);
    match text.strip_prefix('-') {
        Some("0.0") => "0.0".to_owned(),
        Some(_) => text,
        None if text == "0.0" => text,
        None => format!("+{text}"),
    }
}

/// Width of the output where standard output is not a terminal.
const PIPED_WIDTH: usize = 80;
/// Width below which nothing is laid out.
const MIN_WIDTH: usize = 40;
/// Width beyond which lines of prose are hard to read.
const MAX_TEXT_WIDTH: usize = 100;
/// The column at which text begins after its label.
pub(crate) const INDENT: usize = 11;

/// Labels of text that is a warning.
const WARNINGS: [&str; 4] = [WARNING_LABEL, "NOTE", "OUTLIERS", "DIPS"];
const WARNING_LABEL: &str = "warning";
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const LABEL: Style = AnsiColor::Cyan.on_default();
const HEADING: Style = Style::new().bold();

/// Returns the width to lay tables out for: `COLUMNS`, else the terminal's, else 80.
pub fn width() -> usize {
    static WIDTH: OnceLock<usize> = OnceLock::new();
    *WIDTH.get_or_init(|| {
        let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let terminal = || terminal_size::terminal_size_of(io::stdout());
        let width = columns.or_else(|| terminal().map(|(width, _)| width.0.into()));
        width.unwrap_or(PIPED_WIDTH).max(MIN_WIDTH)
    })
}

/// Returns the width at which prose is wrapped.
pub fn text_width() -> usize {
    width().min(MAX_TEXT_WIDTH)
}

/// Returns the header of a table in bold.
pub(crate) fn heading(text: &str) -> String {
    format!("{HEADING}{text}{HEADING:#}")
}

/// Returns `label` and `text` in two columns, the text wrapped.
pub fn wrapped(label: &str, text: &str) -> String {
    wrapped_at(INDENT, label, text)
}

/// Returns `label` and `text` in two columns, the second at `indent`.
pub(crate) fn wrapped_at(indent: usize, label: &str, text: &str) -> String {
    let lines = fold(text, text_width().saturating_sub(indent));
    labelled(indent, label, &lines.join(&format!("\n{}", " ".repeat(indent))))
}

/// Returns warnings, with the text at `indent`. They come before the figures that they concern.
pub(crate) fn warnings<W: AsRef<str>>(indent: usize, warnings: impl IntoIterator<Item = W>) -> String {
    let warnings = warnings.into_iter();
    warnings.map(|warning| wrapped_at(indent, WARNING_LABEL, warning.as_ref())).collect()
}

/// Returns `label` and, at `indent`, `text` as it is.
pub(crate) fn labelled(indent: usize, label: &str, text: &str) -> String {
    let style = match (label, WARNINGS.contains(&label)) {
        ("", _) => Style::new(),
        (_, true) => WARNING,
        (_, false) => LABEL,
    };
    let gap = " ".repeat(indent.saturating_sub(2 + label.len()));
    let text = format!("  {style}{label}{style:#}{gap}{text}");
    format!("{}\n", text.trim_end())
}

/// Returns the first line of an answer and an empty one.
pub fn title(text: &str) -> String {
    paragraph(text) + "\n"
}

/// Returns `text` wrapped, without a label.
pub fn paragraph(text: &str) -> String {
    fold(text, text_width()).join("\n") + "\n"
}

/// Wraps `text` into lines of at most `width` characters, unless a word is longer. A number stays with the word after
/// it, which may be its unit, and a no-break space is no place to break.
pub(crate) fn fold(text: &str, width: usize) -> Vec<String> {
    const TOGETHER: char = '\u{a0}';
    let is_digit = |c: char| c.is_ascii_digit() || matches!(c, '_' | '.' | '-' | '+' | '<');
    let mut joined = String::with_capacity(text.len());
    for word in text.split_inclusive(' ') {
        let bare = word.trim_end();
        let is_number = bare.ends_with(|c: char| c.is_ascii_digit()) && bare.chars().all(is_digit);
        joined.push_str(bare);
        if bare.len() < word.len() {
            joined.push(if is_number { TOGETHER } else { ' ' });
        }
    }
    let lines = fold_after(&joined, width, &[' ']).into_iter();
    lines.map(|line| line.replace(TOGETHER, " ")).collect()
}

/// Wraps `text` after some characters into lines of at most `width`, unless there is none to break after.
pub fn fold_after(text: &str, width: usize, breaks: &[char]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for piece in text.split_inclusive(breaks) {
        if !line.is_empty() && line.chars().count() + piece.trim_end().chars().count() > width {
            lines.push(std::mem::take(&mut line).trim_end().to_owned());
        }
        line.push_str(piece);
    }
    lines.push(line.trim_end().to_owned());
    lines
}

/// Formats a count with thousands separators: `1_234_567`.
pub fn count(value: u64) -> String {
    grouped(value)
}

/// Numbers of at least this are written in scientific notation.
const LARGE: f64 = 1e12;
/// Numbers below this are written in scientific notation.
const SMALL: f64 = 1e-4;

/// Formats a number with all its digits, a very large or small one in scientific notation.
pub(crate) fn scientific(value: f64) -> String {
    match value.abs() {
        size if size > 0.0 && !(SMALL..LARGE).contains(&size) => format!("{value:e}"),
        _ => value.to_string(),
    }
}

/// Formats a number with `decimals` decimals and thousands separators (`12_345.67`), a very large one in
/// scientific notation.
pub fn number(value: f64, decimals: usize) -> String {
    if value.abs() >= LARGE {
        return format!("{value:.2e}");
    }
    group(&format!("{value:.decimals$}"))
}

/// Formats a figure with three digits, or with all those before the point: predictions are not known better.
pub(crate) fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 99.95 || size == 0.0 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        _ => 3,
    };
    number(value, decimals)
}

/// Milliseconds from which on a latency is shown in seconds.
const IN_SECONDS_MS: f64 = 10_000.0;

/// Formats a latency for a column of milliseconds: with three digits, a long one in seconds with its unit.
pub(crate) fn latency_cell(ms: f64) -> String {
    if ms >= IN_SECONDS_MS { format!("{} s", three_digits(ms / 1e3)) } else { three_digits(ms) }
}

/// Formats a latency with its unit.
pub(crate) fn latency(ms: f64) -> String {
    if ms >= IN_SECONDS_MS { latency_cell(ms) } else { format!("{} ms", three_digits(ms)) }
}

/// Formats a share in percent, a small one with a decimal.
pub fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.05 {
        return "<0.1 %".to_owned();
    }
    let decimals = if share > 0.0 && share < 9.95 { 1 } else { 0 };
    format!("{share:.decimals$} %")
}

/// Formats a share from 0 to 1 that was given, in percent with all its digits.
pub(crate) fn exact_percent(share: f64) -> String {
    // The product is off by rounding in its last digits.
    format!("{} %", (share * 1e11).round() / 1e9)
}

fn group(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let (whole, fraction) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let whole = whole.parse().map_or(whole.to_owned(), |whole: u64| grouped(whole));
    format!("{sign}{whole}{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1_234_567");
        assert_eq!(number(-12345.5, 2), "-12_345.50");
        assert_eq!(number(-123.0, 0), "-123");
    }

    #[test]
    fn numbers_of_many_digits_are_in_scientific_notation() {
        assert_eq!(number(123_456_789.0, 0), "123_456_789");
        assert_eq!(number(1.2345e15, 2), "1.23e15");
        assert_eq!(scientific(18.0), "18");
        assert_eq!(scientific(0.05), "0.05");
        assert_eq!(scientific(1e300), "1e300");
        assert_eq!(scientific(2.5e-9), "2.5e-9");
    }

    #[test]
    fn figures_have_three_digits_or_all_before_the_point() {
        let latencies = [9_999.0, 10_000.0, 1_268_688.0];
        assert_eq!(latencies.map(latency_cell), ["9999", "10.0 s", "1269 s"]);
        assert_eq!(latencies.map(latency), ["9999 ms", "10.0 s", "1269 s"]);
        let shown = [0.0, 0.0196, 0.9996, 9.28, 9.996, 42.76, 99.96, 783.4, 2763.15];
        let expected = ["0", "0.020", "1.00", "9.28", "10.0", "42.8", "100", "783", "2763"];
        assert_eq!(shown.map(three_digits), expected);
    }

    #[test]
    fn errors_have_a_sign_unless_they_are_none() {
        assert_eq!(signed(1234.56), "+1234.6");
        assert_eq!(signed(-0.26), "-0.3");
        assert_eq!([signed(0.04), signed(-0.04)], ["0.0", "0.0"]);
    }

    #[test]
    fn long_text_is_wrapped_under_its_label() {
        let plain = |text: &str| anstream::adapter::strip_str(text).to_string();
        assert_eq!(plain(&wrapped("load", "one two")), "  load     one two\n");
        let long = plain(&wrapped("source", &"word ".repeat(40)));
        assert!(long.lines().all(|line| line.len() <= text_width() && !line.ends_with(' ')));
        assert!(long.lines().skip(1).all(|line| line.starts_with("           word")));
        assert_eq!(long.matches("word").count(), 40);
        let shares = "busy 97 % of the time, <0.1 % others";
        assert_eq!(fold(shares, 7), ["busy", "97 % of", "the", "time,", "<0.1 %", "others"]);
    }
}
