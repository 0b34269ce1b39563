//! Kinds of inputs.

use rooflut_error::{Error, Kind as ErrorKind, either};
use rooflut_report::{RequestsCsv, StepsCsv, Window};
use serde_json::{Map, Value};

/// Command output that an input holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// `rooflut run --json`.
    Run,
    /// `rooflut step --json`.
    Step,
    /// The rows of `rooflut sweep`.
    Sweep,
    /// `rooflut plan --json`.
    Plan,
    /// `rooflut plan --json` at several rates or speeds.
    PlanRates,
    /// `rooflut saturate --json`.
    Saturate,
    /// `rooflut saturate --users --json`.
    SaturateUsers,
    /// `rooflut compare --json`.
    Compare,
    /// `rooflut-lab validate --json`.
    Validate,
    /// The rows of `rooflut run --requests-out`.
    Requests,
    /// The rows of `rooflut run --steps-out`.
    Steps,
    /// The rows of `rooflut run --windows-out`.
    Windows,
}

/// Keys by which JSON is recognised, of the most particular kind first.
const KEYS: [(Kind, &[&str]); 8] = [
    (Kind::PlanRates, &["plans"]),
    (Kind::Validate, &["rows", "summary", "coverage"]),
    (Kind::Compare, &["a", "b", "settings", "figures"]),
    (Kind::SaturateUsers, &["users", "max_users"]),
    (Kind::Saturate, &["saturation", "knee"]),
    (Kind::Plan, &["deployments", "limits"]),
    (Kind::Step, &["total_ms", "part_details"]),
    (Kind::Run, &["load", "ttft_ms", "throughput"]),
];

/// Columns with which the rows of a sweep begin.
const OF_SWEEPS: &str = "index,grid,schema_version,";

impl Kind {
    /// Returns the name that the front end knows.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Run => "run",
            Kind::Step => "step",
            Kind::Sweep => "sweep",
            Kind::Plan => "plan",
            Kind::PlanRates => "plan-rates",
            Kind::Saturate => "saturate",
            Kind::SaturateUsers => "saturate-users",
            Kind::Compare => "compare",
            Kind::Validate => "validate",
            Kind::Requests => "requests",
            Kind::Steps => "steps",
            Kind::Windows => "windows",
        }
    }

    /// Recognises the answer of a command.
    ///
    /// # Errors
    /// An object that no command of this list writes.
    pub(crate) fn of_json(keys: &Map<String, Value>) -> Result<Kind, Error> {
        let found = KEYS.iter().find(|(_, names)| names.iter().all(|name| keys.contains_key(*name)));
        found.map(|(kind, _)| *kind).ok_or_else(|| {
            let commands = ["run", "step", "plan", "saturate", "compare"].map(|it| format!("rooflut {it} --json"));
            let commands = commands.into_iter().chain(["rooflut-lab validate --json".to_owned()]);
            let text = format!(
                "expected the output of {}, found other JSON; write it with one of them",
                either(&commands.collect::<Vec<_>>())
            );
            Error::new(ErrorKind::Contents, text)
        })
    }

    /// Recognises rows by the line of their columns.
    ///
    /// # Errors
    /// Columns that no output has, and those of another version.
    pub(crate) fn of_columns(header: &str) -> Result<Kind, Error> {
        let known = [
            (Kind::Requests, RequestsCsv::new(Vec::new()).finish()),
            (Kind::Steps, StepsCsv::new(Vec::new()).finish()),
            (Kind::Windows, {
                let mut columns = Vec::new();
                Window::write_csv(&[], &mut columns).map(|()| columns)
            }),
        ];
        for (kind, columns) in known {
            let columns = columns.map_err(|error| Error::new(ErrorKind::Io, error.to_string()))?;
            let columns = String::from_utf8_lossy(&columns);
            let columns = columns.trim_end();
            if header == columns {
                return Ok(kind);
            }
            // Two columns tell the outputs apart; the others have changed since.
            let start = columns.split_inclusive(',').take(2).collect::<String>();
            if header.starts_with(&start) {
                let text = format!(
                    "expected the columns of this version ({columns}), found other ones; write the file again with \
                     rooflut run --{}-out",
                    kind.name()
                );
                return Err(Error::new(ErrorKind::Contents, text));
            }
        }
        if header.starts_with(OF_SWEEPS) {
            return Ok(Kind::Sweep);
        }
        let text = "expected JSON of a command, the rows of rooflut sweep, or those of rooflut run --requests-out, \
                    --steps-out or --windows-out, found other columns; write the file with one of them";
        Err(Error::new(ErrorKind::Contents, text))
    }
}
