//! `rooflut report`: outputs of other commands as one HTML file.

use std::io::BufReader;
use std::path::{Path, PathBuf};

use rooflut_error::Whole;
use rooflut_html::{Input, Kind};
use rooflut_report::compare::ReadReport;

use crate::args::ReportArgs;
use crate::error::Error;
use crate::html::{self, HtmlFile};
use crate::output::Answered;
use crate::outputs::{Existing, Outputs};
use crate::{compare, input};

/// Writes the report of files.
pub(crate) fn run(args: &ReportArgs, command: &str) -> Result<Answered, Error> {
    let inputs = args.inputs.iter().map(|path| (path.clone(), "is shown by the report"));
    let mut outputs = Outputs::new(inputs.collect(), Existing::from(args.force));
    let file = HtmlFile::at(&args.out, &mut outputs)?;
    let mut inputs = args.inputs.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    inputs.extend(comparison(&args.inputs, &inputs)?);
    file.write(inputs, command)?;
    Ok(String::new().into())
}

fn read(path: &Path) -> Result<Input, Error> {
    let file = rooflut_error::open(path).map_err(Error::reading(path))?;
    Ok(Input::read(&path.display().to_string(), BufReader::new(file)).map_err(|error| match error.kind() {
        rooflut_scenario::Kind::Io => {
            error.map(|text| format!("cannot read {}: {text}; check the path", path.display()))
        }
        _ => error.in_file(path),
    })?)
}

/// Compares the runs of a report, where there are two.
fn comparison(paths: &[PathBuf], inputs: &[Input]) -> Result<Option<Input>, Error> {
    let mut runs = paths.iter().zip(inputs).filter(|(_, input)| input.kind() == Kind::Run).map(|(path, _)| path);
    let (Some(a), Some(b), None) = (runs.next(), runs.next(), runs.next()) else {
        return Ok(None);
    };
    let read = |path: &Path| {
        let bytes = input::read(path, Whole::Report).map_err(Error::reading(path))?;
        Ok::<_, Error>(ReadReport::read(&bytes).map_err(|error| error.in_file(path))?)
    };
    let json = compare::json([a, b], &read(a)?, &read(b)?)?;
    Ok(Some(html::input("both runs", &json)?))
}
