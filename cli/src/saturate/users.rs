//! The answer of `rooflut saturate --users` as text.

use rooflut_plan::MostUsers;
use rooflut_scenario::Kind;

use super::text::{figures, within};
use crate::error::Error;
use crate::grid::Grid;
use crate::output::{Answered, count, percent, plural, three_digits, title, to_json, warnings, wrapped_at};
use crate::plan::lasting;

/// Column of the text after its label.
const INDENT: usize = 10;

/// Answers with the most users and the latencies around them, and with an error if not even one meets the limits.
pub(super) fn answered(most: &MostUsers, json: bool) -> Result<Answered, Error> {
    let failure = most.users.is_none().then(|| {
        let text =
            format!("not even one user meets {}; relax the limits, or use faster servers", most.limits.join(", "));
        Error::of(Kind::NotMet, text)
    });
    Ok(Answered { text: if json { to_json(most)? } else { text(most) }, failure })
}

fn text(most: &MostUsers) -> String {
    let servers = format!("{} on {} {}", most.model, count(most.gpus), most.gpu);
    let heading = match most.users {
        Some(users) if users == most.max_users => {
            format!(
                "{servers} serves {} within the limits, or more: --users allows no more",
                plural(users.into(), "user")
            )
        }
        Some(users) => format!("{servers} serves {} within the limits", plural(users.into(), "user")),
        None => format!("{servers}: not even one user meets the limits"),
    };
    let mut text = title(&heading) + &warnings(INDENT, &most.notes);
    let limits = within(&most.limits.join(", "), most.attainment, most.confidence);
    text += &wrapped_at(INDENT, "limits", &limits);
    let last = most.first_seed.wrapping_add(most.seeds - 1);
    let seeds = match most.seeds {
        1 => String::new(),
        seeds => format!(" with each of {} seeds, {} to {last}", count(seeds), most.first_seed),
    };
    text += &wrapped_at(INDENT, "runs", &format!("{}{seeds}", lasting(most.requests)));
    text += &wrapped_at(INDENT, "search", &plural(most.simulations, "simulation"));
    text +=
        &wrapped_at(INDENT, "curve", "means over the seeds: latencies in ms; requests and output tokens per second");
    let mut grid = Grid::new(
        ">users | >TTFT\np50 | >TTFT\np99 | >TPOT\np50 | >TPOT\np99 | >E2E\np50 | >E2E\np99 | >requests | >output\ntokens \
         | >busy | ",
    );
    for at in &most.curve {
        let point = &at.point;
        let mut cells = vec![count(at.users.into())];
        for latency in [point.ttft_ms, point.tpot_ms, point.e2e_ms] {
            cells.extend(figures(latency));
        }
        cells.extend([
            three_digits(point.requests_per_s),
            count(point.output_tokens_per_s.round() as u64),
            percent(100.0 * point.busy_share),
            if Some(at.users) == most.users { "most".to_owned() } else { String::new() },
        ]);
        grid.row(cells);
    }
    text + &format!("\n{}", grid.render(2))
}
