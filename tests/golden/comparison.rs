//! Two tables of predictions, line by line.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

/// How a change of predictions is accepted.
pub(crate) const ACCEPT: &str =
    "ROOFLUT_ACCEPT=1 cargo test -p rooflut --all-features --test golden";

const HEADER: &str = "model,set,tp,kv_dtype,batch,step_us";
/// In the place of a time.
const REFUSED: &str = "refused";
/// The largest relative change of a time that is none.
const LIMIT: f64 = 0.01;
/// Differences of a kind that are listed; the others are counted.
const LISTED: usize = 10;

/// One predicted step.
pub(crate) struct Line {
    /// All columns but the time.
    pub(crate) step: String,
    /// `None` where the set refuses.
    pub(crate) us: Option<f64>,
}

/// The table of these lines.
pub(crate) fn render(lines: &[Line]) -> String {
    let mut table = format!("{HEADER}\n");
    for Line { step, us } in lines {
        let us = us.map_or(REFUSED.to_owned(), |us| format!("{us:.1}"));
        table.push_str(&format!("{step},{us}\n"));
    }
    table
}

/// A table by its steps, and the lines that cannot be read (of a merge, say).
#[derive(Default)]
struct Table<'t> {
    times: BTreeMap<&'t str, Option<f64>>,
    unreadable: Vec<&'t str>,
}

impl<'t> Table<'t> {
    fn read(text: &'t str) -> Table<'t> {
        let mut table = Table::default();
        for line in text.lines().filter(|line| *line != HEADER) {
            let read = read_line(line).filter(|(step, _)| !table.times.contains_key(step));
            match read {
                Some((step, us)) => {
                    table.times.insert(step, us);
                }
                None => table.unreadable.push(line),
            }
        }
        table
    }
}

fn read_line(line: &str) -> Option<(&str, Option<f64>)> {
    let (step, us) = line.rsplit_once(',')?;
    if us == REFUSED {
        return Some((step, None));
    }
    let us: f64 = us.parse().ok()?;
    (us.is_finite() && us > 0.0).then_some((step, Some(us)))
}

/// A time that changed.
struct Drift<'t> {
    step: &'t str,
    old_us: f64,
    new_us: f64,
}

impl Drift<'_> {
    fn change(&self) -> f64 {
        self.new_us / self.old_us - 1.0
    }
}

impl fmt::Display for Drift<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Drift {
            step,
            old_us,
            new_us,
        } = self;
        let percent = 100.0 * self.change();
        write!(
            f,
            "{step}: {old_us:.1} us, now {new_us:.1} us ({percent:+.1} %)"
        )
    }
}

/// What changed from one table to another.
pub(crate) struct Differences<'t> {
    /// Times that changed, the largest change first.
    drifts: Vec<Drift<'t>>,
    /// Lines that came, went, became a refusal or an answer, or cannot be read.
    others: Vec<String>,
}

impl<'t> Differences<'t> {
    pub(crate) fn between(old: &'t str, new: &'t str) -> Differences<'t> {
        let (old, new) = (Table::read(old), Table::read(new));
        let mut differences = Differences {
            drifts: Vec::new(),
            others: Vec::new(),
        };
        for line in old.unreadable.iter().chain(&new.unreadable) {
            differences.other(format!("repeated or unreadable: {line}"));
        }
        for (&step, &us) in &old.times {
            match new.times.get(step) {
                Some(&new_us) => differences.compare(step, us, new_us),
                None => differences.other(format!("no longer there: {step}")),
            }
        }
        for step in new
            .times
            .keys()
            .filter(|step| !old.times.contains_key(*step))
        {
            differences.other(format!("not in the file: {step}"));
        }
        let size = |drift: &Drift| drift.change().abs();
        let drifts = &mut differences.drifts;
        drifts.sort_by(|one, other| size(other).total_cmp(&size(one)));
        differences
    }

    fn compare(&mut self, step: &'t str, old_us: Option<f64>, new_us: Option<f64>) {
        match (old_us, new_us) {
            (Some(old_us), Some(new_us)) if old_us.total_cmp(&new_us).is_ne() => {
                self.drifts.push(Drift {
                    step,
                    old_us,
                    new_us,
                });
            }
            (None, Some(us)) => self.other(format!("was refused, now {us:.1} us: {step}")),
            (Some(us), None) => self.other(format!("was {us:.1} us, now refused: {step}")),
            (Some(_), Some(_)) | (None, None) => {}
        }
    }

    fn other(&mut self, difference: String) {
        self.others.push(difference);
    }

    /// The drifts beyond the limit.
    fn beyond(&self) -> &[Drift<'t>] {
        let is_beyond = |drift: &Drift| drift.change().abs() > LIMIT;
        &self.drifts[..self.drifts.partition_point(is_beyond)]
    }

    /// Why the tables differ by more than is accepted, if they do.
    pub(crate) fn failure(&self) -> Option<String> {
        let beyond = self.beyond();
        if beyond.is_empty() && self.others.is_empty() {
            return None;
        }
        let mut text = "predictions are not those of tests/golden/steps.csv\n".to_owned();
        let drifts = format!("drifts above {} %", 100.0 * LIMIT);
        list(&mut text, &drifts, beyond);
        list(&mut text, "other differences", &self.others);
        let _ = write!(
            text,
            "If this is meant, accept it, and list in CHANGELOG.md what it prints:\n  {ACCEPT}"
        );
        Some(text)
    }

    /// What accepting changes, for CHANGELOG.md.
    pub(crate) fn summary(&self) -> String {
        let changed = self.drifts.len() + self.others.len();
        let mut text = format!("lines that change: {changed}");
        if let Some(largest) = self.drifts.first() {
            let _ = write!(text, "; the largest drift: {largest}");
        }
        text
    }
}

/// Writes the first differences of a kind, and how many there are.
fn list<D: fmt::Display>(text: &mut String, kind: &str, differences: &[D]) {
    if differences.is_empty() {
        return;
    }
    // Writing to a String does not fail.
    let _ = writeln!(text, "{kind}: {}", differences.len());
    for difference in differences.iter().take(LISTED) {
        let _ = writeln!(text, "  {difference}");
    }
    if let Some(more @ 1..) = differences.len().checked_sub(LISTED) {
        let _ = writeln!(text, "  and {more} more");
    }
}
