//! `rooflut-lab tables check`: inspects a set before it is trusted.

mod json;
mod subject;
mod text;
mod warning;
mod warnings_table;

use std::path::Path;

use rooflut_inspect::{DIP, Dips, Family, Inspection, Outlier, Suspect};

use crate::args::CheckArgs;
use crate::coverage::{Coverage, coverage};
use crate::error::Error;
use crate::errors::{Errors, errors};
use crate::output::{Answered, count};
pub(crate) use subject::subject;
use warning::Warning;

/// Inspects the set. Errors are those of a build.
pub(crate) fn run(args: &CheckArgs, tables: Option<&Path>, as_json: bool) -> Result<Answered, Error> {
    let inspection = subject(args.set.as_deref(), tables)?;
    let check = Check::new(&inspection);
    let text = if as_json { check.json()? } else { check.text() };
    let warnings = check.warnings.len();
    let failure = (args.deny_warnings && warnings > 0).then(|| {
        Error::new(format!(
            "{}: expected no warning, found {}; measure the rows again or leave them out, or leave out \
             --deny-warnings",
            inspection.set.name(),
            count(warnings as u64)
        ))
    });
    Ok(Answered { text, failure })
}

/// The findings about a set.
struct Check<'i> {
    inspection: &'i Inspection,
    families: Vec<Checked<'i>>,
    /// In the order of the families, outliers first.
    warnings: Vec<Warning<'i>>,
    coverage: Vec<Coverage>,
}

/// A family and its findings.
pub(crate) struct Checked<'i> {
    pub(crate) family: &'i Family,
    pub(crate) outliers: Vec<Outlier>,
    pub(crate) dips: Vec<Dips>,
    suspects: Vec<Suspect>,
    errors: Option<Errors>,
}

impl<'i> Checked<'i> {
    pub(crate) fn new(inspection: &Inspection, family: &'i Family) -> Checked<'i> {
        let outliers = rooflut_inspect::outliers(family);
        Checked {
            family,
            dips: rooflut_inspect::dips(family, &outliers, DIP),
            outliers,
            suspects: rooflut_inspect::suspects(&inspection.families, family),
            errors: errors(&inspection.set, family),
        }
    }

    pub(crate) fn dip_count(&self) -> usize {
        self.dips.iter().map(|dips| dips.dips.len()).sum()
    }

    fn suspect_count(&self) -> usize {
        self.suspects.iter().map(|suspect| suspect.rows.len()).sum()
    }
}

impl<'i> Check<'i> {
    fn new(inspection: &'i Inspection) -> Check<'i> {
        let families = inspection.families.iter();
        let families: Vec<_> = families.map(|family| Checked::new(inspection, family)).collect();
        Check {
            inspection,
            warnings: families.iter().flat_map(Warning::of).collect(),
            families,
            coverage: coverage(&inspection.set),
        }
    }
}
