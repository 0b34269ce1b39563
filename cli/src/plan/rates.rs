//! Plans at several rates, or at several speeds of a trace.

use rooflut_plan::{Answer, Plan};
use serde::Serialize;

use super::{not_met, text};
use crate::args::PlanArgs;
use crate::error::Error;
use crate::grid::Grid;
use crate::output::{Answered, INDENT, number, plural, three_digits, title, to_json, warnings, wrapped};

/// The plans of several rates, or of several speeds.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct RatePlans {
    /// A plan for each rate or speed, in the given order.
    pub(super) plans: Vec<RatePlan>,
}

/// The setting that differs between plans.
#[derive(Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Varied {
    /// Requests (of sessions: sessions) per second.
    Rate(f64),
    /// Speed of the replay over that of the trace.
    TraceSpeed(f64),
}

impl Varied {
    fn name(self) -> &'static str {
        match self {
            Varied::Rate(_) => "rate",
            Varied::TraceSpeed(_) => "speed",
        }
    }

    fn value(self) -> f64 {
        match self {
            Varied::Rate(value) | Varied::TraceSpeed(value) => value,
        }
    }
}

/// The plan of one rate or speed.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct RatePlan {
    /// The rate or the speed.
    #[serde(flatten)]
    pub(super) varied: Varied,
    /// The plan.
    #[serde(flatten)]
    pub(super) plan: Plan,
}

impl RatePlans {
    /// Answers with the best deployment of each rate or speed, and with an error if one has none.
    pub(super) fn answered(&self, args: &PlanArgs) -> Result<Answered, Error> {
        let missed = self.plans.iter().filter(|plan| plan.plan.deployments.is_empty());
        let missed: Vec<Varied> = missed.map(|plan| plan.varied).collect();
        let failure = missed.first().map(|first| {
            let values: Vec<String> = missed.iter().map(|missed| three_digits(missed.value())).collect();
            not_met(format!(
                "no deployment meets the limits at a {} of {}; relax them, or allow other GPUs, formats or a higher \
                 --max-gpus",
                first.name(),
                values.join(", ")
            ))
        });
        Ok(Answered { text: if args.json { to_json(self)? } else { self.text(args) }, failure })
    }

    fn text(&self, args: &PlanArgs) -> String {
        let Some(RatePlan { plan: first, varied }) = self.plans.first() else {
            return String::new();
        };
        let name = varied.name();
        let mut text = title(&format!("{} at {}", first.model, plural(self.plans.len() as u64, name)));
        let mut notes: Vec<&String> = self.plans.iter().flat_map(|plan| &plan.plan.notes).collect();
        notes.sort();
        notes.dedup();
        text += &warnings(INDENT, notes);
        text += &wrapped("limits", &text::limits(first));
        text += &wrapped("runs", &text::runs(first));
        let simulations = self.plans.iter().map(|plan| plan.plan.simulations).sum();
        text += &wrapped("search", &plural(simulations, "simulation"));
        let (columns, shows) = text::columns(args);
        let mut grid = Grid::new(&format!(">{name} | {columns} | >USD per\nhour"));
        for RatePlan { varied, plan } in &self.plans {
            let usd = |answer: &Answer| answer.hourly_cost.as_ref().map(|cost| number(cost.usd, 2));
            let mut cells = vec![three_digits(varied.value())];
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
