//! Plans at several rates.

use rooflut_plan::{Answer, Plan};
use serde::Serialize;

use super::{not_met, text};
use crate::args::PlanArgs;
use crate::error::Error;
use crate::grid::Grid;
use crate::output::{Answered, INDENT, number, plural, three_digits, title, to_json, warnings, wrapped};

/// The plans of several rates.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct RatePlans {
    /// A plan for each rate, in the order of the rates.
    pub(super) plans: Vec<RatePlan>,
}

/// The plan of one rate.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct RatePlan {
    /// Requests (of sessions: sessions) per second.
    pub(super) rate: f64,
    /// The plan.
    #[serde(flatten)]
    pub(super) plan: Plan,
}

impl RatePlans {
    /// Answers with the best deployment of each rate, and with an error if a rate has none.
    pub(super) fn answered(&self, args: &PlanArgs) -> Result<Answered, Error> {
        let missed = self.plans.iter().filter(|plan| plan.plan.deployments.is_empty());
        let missed: Vec<String> = missed.map(|plan| three_digits(plan.rate)).collect();
        let failure = (!missed.is_empty()).then(|| {
            not_met(format!(
                "no deployment meets the limits at a rate of {}; relax them, or allow other GPUs, formats or a higher \
                 --max-gpus",
                missed.join(", ")
            ))
        });
        Ok(Answered { text: if args.json { to_json(self)? } else { self.text(args) }, failure })
    }

    fn text(&self, args: &PlanArgs) -> String {
        let Some(RatePlan { plan: first, .. }) = self.plans.first() else {
            return String::new();
        };
        let mut text = title(&format!("{} at {}", first.model, plural(self.plans.len() as u64, "rate")));
        let mut notes: Vec<&String> = self.plans.iter().flat_map(|plan| &plan.plan.notes).collect();
        notes.sort();
        notes.dedup();
        text += &warnings(INDENT, notes);
        text += &wrapped("limits", &text::limits(first));
        text += &wrapped("runs", &text::runs(first));
        let simulations = self.plans.iter().map(|plan| plan.plan.simulations).sum();
        text += &wrapped("search", &plural(simulations, "simulation"));
        let (columns, shows) = text::columns(args);
        let mut grid = Grid::new(&format!(">rate | {columns} | >USD per\nhour"));
        for RatePlan { rate, plan } in &self.plans {
            let usd = |answer: &Answer| answer.hourly_cost.as_ref().map(|cost| number(cost.usd, 2));
            let mut cells = vec![three_digits(*rate)];
            match plan.deployments.first().or(plan.nearest.as_ref()) {
                Some(answer) => {
                    cells.extend(text::row(answer, shows));
                    cells.push(usd(answer).unwrap_or_else(|| "-".to_owned()));
                }
                None => cells.extend(columns.split('|').chain([""]).map(|_| "-".to_owned())),
            }
            grid.row(cells);
        }
        text + &format!("\n{}", grid.render(2))
    }
}
