//! Models and tables that a scenario names.

use std::io;
use std::path::Path;

use rooflut::table::TableSet;
use rooflut_scenario::{Model, Resources, Scenario, Target};
use rooflut_traces::Input;

use crate::error::Error;
use crate::model_source::{self, NamedModel};
use crate::table_set;

/// Returns what a scenario names, and its models. `read` opens its other files.
pub(crate) fn find<'r>(
    scenario: &Scenario,
    read: &'r dyn Fn(&Path) -> io::Result<Input>,
) -> Result<(Resources<'r>, Vec<NamedModel>), Error> {
    let target = &scenario.target;
    let model =
        model_source::find(target.model(), model_source::options(target)).map_err(|error| error.about("model"))?;
    let tables = table_set::find(table_set::of(target))?;
    let find_draft = |name| model_source::find(name, model_source::draft_options(target));
    let draft =
        scenario.server.draft_model().map(find_draft).transpose().map_err(|error| error.about("draft_model"))?;
    let resources = Resources {
        model: model.model.clone(),
        draft_model: draft.as_ref().map(|draft| draft.model.clone()),
        tables,
        find: &of_target,
        read,
    };
    let models: Vec<_> = [model].into_iter().chain(draft).collect();
    let named: Vec<_> = models.iter().collect();
    model_source::check(target, &named)?;
    Ok((resources, models))
}

/// Returns the model and the tables of servers with settings of their own.
fn of_target(target: &Target) -> Result<(Model, TableSet), rooflut_scenario::Error> {
    let model = model_source::find(target.model(), model_source::options(target))?;
    Ok((model.model, table_set::find(table_set::of(target))?))
}
