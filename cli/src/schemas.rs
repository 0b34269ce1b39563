//! JSON Schemas of what commands write.

use std::sync::Arc;

use rooflut_observe::Measured;
use rooflut_plan::{MostUsers, Plan, Saturation};
use rooflut_report::{Report, Versioned};
use rooflut_scenario::{Fits, ScenarioFile};
use rooflut_sweep::{Grid, Kind, Sources, Sweep};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::calibrate::CalibratedJson;
use crate::compare::ComparisonJson;
use crate::compared::ComparedJson;
use crate::engines::EnginesJson;
use crate::error::Error;
use crate::input;
use crate::lookup_output::AnswerJson;
use crate::models::ModelsJson;
use crate::plan::RatePlans;
use crate::step::StepJson;
use crate::sweep::{ReadSets, named};

use crate::tables::TablesJson;
use crate::watch::WatchedJson;

/// Returns the JSON Schema of what each command writes with `--json`, by the name of the command (`plan-rates` is that
/// of `plan` at several rates, `saturate-users` that of `saturate --users`), and of a row of `sweep` whose grid has
/// goodput, intervals and seeds.
///
/// # Errors
/// None is known.
pub fn schemas() -> Result<Vec<(&'static str, Value)>, Error> {
    Ok(vec![
        ("run", of::<Report>()),
        ("step", of::<StepJson<'_>>()),
        ("plan", of::<Plan>()),
        ("plan-rates", of::<RatePlans>()),
        ("saturate", of::<Saturation>()),
        ("saturate-users", of::<MostUsers>()),
        ("sweep", sweep()?),
        ("fits", of::<Fits>()),
        ("observe", of::<Measured>()),
        ("calibrate", of::<CalibratedJson>()),
        ("watch", of::<WatchedJson>()),
        ("compare", of::<ComparisonJson>()),
        ("compare-measured", of::<ComparedJson>()),
        ("lookup", of::<AnswerJson<'_>>()),
        ("tables", of::<TablesJson<'_>>()),
        ("models", of::<ModelsJson>()),
        ("engines", of::<EnginesJson>()),
    ])
}

/// Returns the schema of a report as it is written: with its version, and with keys that are null.
fn of<R: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<Versioned<R>>().into()
}

/// A scenario whose sweep has all columns of figures.
const WHOLE: &str = "model = \"llama-3.1-8b\"\n\
                     [workload]\nrate = 1\nrequests = 100\nseeds = 2\n\
                     [output]\ngoodput = [\"ttft:500\"]\ninterval = 0.9\n";

/// Returns the schema of a row of a sweep, whose columns of figures depend on the grid.
fn sweep() -> Result<Value, Error> {
    let file = ScenarioFile::read(WHOLE.as_bytes())?;
    let sets = ReadSets::default();
    let sources = Sources { find: Arc::new(|scenario| Ok(named(scenario, &sets)?)), open: Arc::new(input::open) };
    let grid = Grid::try_new(file.scenario(), Vec::new());
    let sweep = grid.and_then(|grid| Sweep::try_new(grid, sources, ""))?;
    let always = ["index", "grid", "schema_version", "checksum"];
    let properties = sweep.columns().iter().map(|(name, kind)| {
        let kind = match kind {
            Kind::Integer => "integer",
            Kind::Number => "number",
            Kind::Truth => "boolean",
            Kind::Text => "string",
        };
        let schema =
            if always.contains(&name.as_str()) { json!({"type": kind}) } else { json!({"type": [kind, "null"]}) };
        (name.clone(), schema)
    });
    Ok(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "SweepRow",
        "description": "A row of the CSV of `rooflut sweep`; an empty cell is null. Columns of goodput, intervals and \
            seeds are there where the grid has them. The keys of the grid are columns of their own after the first three. \
            The checksum is the CRC-32 of the line before it.",
        "type": "object",
        "properties": properties.collect::<Map<String, Value>>(),
        "required": always,
    }))
}
