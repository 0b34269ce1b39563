//! `rooflut tables check`: what a person should know of a set before trusting it.

mod json;
mod subject;
mod text;
mod told;
mod warning;

use std::path::Path;

use rooflut_inspect::{Coverage, DIP, Dips, Errors, Family, Inspection, Outlier};

use crate::args::CheckArgs;
use crate::error::Error;
use crate::output::{Answered, count};
pub(crate) use subject::subject;
use warning::Warning;

/// Answers with what there is to say of the set; errors are those of a build.
pub(crate) fn run(
    args: &CheckArgs,
    tables: Option<&Path>,
    as_json: bool,
) -> Result<Answered, Error> {
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

/// All that is said of a set.
struct Check<'i> {
    inspection: &'i Inspection,
    families: Vec<Checked<'i>>,
    /// In the order of the families, outliers first.
    warnings: Vec<Warning<'i>>,
    coverage: Vec<Coverage>,
}

/// A family and what stands out in it.
pub(crate) struct Checked<'i> {
    pub(crate) family: &'i Family,
    pub(crate) outliers: Vec<Outlier>,
    pub(crate) dips: Vec<Dips>,
    errors: Option<Errors>,
}

impl<'i> Checked<'i> {
    pub(crate) fn new(inspection: &Inspection, family: &'i Family) -> Checked<'i> {
        let outliers = rooflut_inspect::outliers(family);
        Checked {
            family,
            dips: rooflut_inspect::dips(family, &outliers, DIP),
            outliers,
            errors: rooflut_inspect::errors(&inspection.set, family),
        }
    }

    /// The places where latency falls.
    pub(crate) fn dip_count(&self) -> usize {
        self.dips.iter().map(|dips| dips.dips.len()).sum()
    }
}

impl<'i> Check<'i> {
    fn new(inspection: &'i Inspection) -> Check<'i> {
        let families = inspection.families.iter();
        let families: Vec<_> = families
            .map(|family| Checked::new(inspection, family))
            .collect();
        Check {
            inspection,
            warnings: families.iter().flat_map(Warning::of).collect(),
            families,
            coverage: rooflut_inspect::coverage(&inspection.set),
        }
    }
}
