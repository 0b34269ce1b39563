//! The costs of deployments as text.

use rooflut_plan::{BreakEven, Plan};

use super::text::{gpus, servers};
use crate::grid::Grid;
use crate::output::{number, wrapped, wrapped_at};

/// Column of the text after its label.
const BREAK_EVEN_INDENT: usize = 14;

/// Returns the costs of the deployments as a table, and where their prices are from.
pub(super) fn text(plan: &Plan) -> String {
    let mut grid = Grid::new(
        "GPU | servers | >USD per\nGPU hour | >USD per\nhour | >USD per 1M\noutput tokens | >USD per 1000\nrequests",
    );
    let (mut sources, mut unknown) = (Vec::new(), Vec::new());
    let usd = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |usd| number(usd, 2));
    for answer in plan.deployments.iter().chain(&plan.nearest) {
        let Some(cost) = &answer.hourly_cost else {
            unknown.push(answer.gpu_name.as_str());
            continue;
        };
        grid.row(vec![
            gpus(answer),
            servers(answer),
            number(cost.price.usd_per_gpu_hour, 2),
            number(cost.usd, 2),
            usd(cost.usd_per.million_output_tokens),
            usd(cost.usd_per.request.map(|usd| 1e3 * usd)),
        ]);
        let price = &cost.price;
        sources.push(format!("{}: {}", gpus(answer), price.origin()));
    }
    sources.dedup();
    unknown.dedup();
    let mut text = if grid.is_empty() { String::new() } else { format!("{}\n", grid.render(2)) };
    for BreakEven { gpu, usd_per_gpu_hour, .. } in &plan.break_even {
        let of_gpu = plan.deployments.iter().find(|answer| answer.gpu == *gpu);
        let gpu = of_gpu.map_or(gpu, |answer| &answer.gpu_name);
        let told = format!("{gpu} is the cheapest below {} USD per GPU hour", number(*usd_per_gpu_hour, 2));
        text += &wrapped_at(BREAK_EVEN_INDENT, "break-even", &told);
    }
    for source in sources {
        text += &wrapped("prices", &source);
    }
    for gpu in unknown {
        let unknown = format!("the price of {gpu} is not known; give one with --price {gpu}=USD");
        text += &wrapped("prices", &unknown);
    }
    text
}
