//! Loads to measure next.

use rooflut_calibrate::{Calibration, EIGHTY, Posterior, Residual, Times, next, residuals};
use rooflut_scenario::{Kind, Run, Scenario, shell_quoted};
use serde::Serialize;

use crate::error::Error;
use crate::input;
use crate::loads::{MeasuredLoads, predict};
use crate::output::three_digits;
use crate::prepared::PreparedRun;

/// Users of the closed loops that are considered.
const USERS: [u32; 5] = [1, 4, 16, 64, 256];
/// Prompt and output tokens of those beside the measured ones: short, long prompts, long answers.
const LENGTHS: [[u32; 2]; 3] = [[128, 128], [4_096, 64], [128, 1_024]];
/// Requests of each user, and fewest of a load.
const REQUESTS: [u32; 2] = [10, 40];

/// A load to measure next.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct NextJson {
    /// The command that measures it.
    command: String,
    /// Half width of the 80 % interval of the asked latencies before, percent: the root mean square over TPOT and TTFT.
    before_percent: f64,
    /// Once it is measured, after those named before it.
    after_percent: f64,
}

/// Returns the loads that would narrow the latencies of `asked` most, or of the measured loads.
pub(crate) fn loads(
    calibration: &Calibration,
    posterior: &Posterior,
    measured: &MeasuredLoads,
    asked: Option<Scenario>,
    count: usize,
) -> Result<Vec<NextJson>, Error> {
    let base = &measured.scenario;
    let asked = match asked {
        Some(question) => {
            let mut scenario = question;
            let policy = scenario.server.policy;
            (scenario.target, scenario.server) = (base.target.clone(), base.server.clone());
            // Priorities of requests need the order of admission by them.
            scenario.server.policy = scenario.server.policy.or(policy);
            slopes(calibration, &[PreparedRun::try_new(&scenario, &input::open)?.run().clone()])?
        }
        None => calibration.rows.iter().map(|row| row.residual).collect(),
    };
    let mut candidates = Vec::new();
    for [prompt, output] in measured.lengths.into_iter().chain(LENGTHS) {
        for users in USERS {
            let candidate = Candidate { users, prompt, output };
            let prepared = match PreparedRun::try_new(&candidate.scenario(base)?, &input::open) {
                Ok(prepared) => prepared,
                // Requests that the server does not hold cannot be measured.
                Err(error) if error.kind() == Kind::DoesNotFit => continue,
                Err(error) => return Err(error),
            };
            let rows = slopes(calibration, &[prepared.run().clone()])?;
            candidates.push((candidate, rows));
        }
    }
    let rows: Vec<Vec<Residual>> = candidates.iter().map(|(_, rows)| rows.clone()).collect();
    let percent = |deviation: f64| 100.0 * (EIGHTY * deviation).exp_m1();
    let gains = next(posterior, &asked, &rows, count).into_iter();
    let named = gains.filter_map(|gain| {
        let (candidate, _) = candidates.get(gain.candidate)?;
        let [before_percent, after_percent] = [gain.before, gain.after].map(percent);
        Some(NextJson { command: candidate.command(base), before_percent, after_percent })
    });
    Ok(named.collect())
}

/// Returns the derivatives of the latencies of runs.
fn slopes(calibration: &Calibration, runs: &[Run]) -> Result<Vec<Residual>, Error> {
    let all = |stack: &_| runs.iter().map(|run| predict(run, stack, [false; 2])).collect::<Result<Vec<Times>, Error>>();
    let now = all(&calibration.stack)?;
    Ok(residuals(&calibration.stack, &now, all)?.into_iter().map(|(_, row)| row).collect())
}

/// A closed loop.
struct Candidate {
    users: u32,
    prompt: u32,
    output: u32,
}

impl Candidate {
    fn requests(&self) -> u32 {
        let [of_user, fewest] = REQUESTS;
        (of_user * self.users).max(fewest)
    }

    fn scenario(&self, base: &Scenario) -> Result<Scenario, Error> {
        let fixed = |tokens: u32| Some(rooflut_scenario::LengthDistribution::fixed(tokens));
        let mut scenario = base.clone();
        scenario.workload = rooflut_scenario::Workload::default();
        scenario.workload.users = Some(self.users);
        scenario.workload.requests = Some(self.requests());
        (scenario.workload.prompt, scenario.workload.output) = (fixed(self.prompt), fixed(self.output));
        Ok(scenario)
    }

    fn command(&self, base: &Scenario) -> String {
        format!(
            "vllm bench serve --model {} --dataset-name random --random-input-len {} --random-output-len {} \
             --max-concurrency {} --num-prompts {} --ignore-eos --save-result",
            shell_quoted(&base.target.hub_name()),
            self.prompt,
            self.output,
            self.users,
            self.requests()
        )
    }
}

/// Returns the commands, each with what it gains.
pub(crate) fn text(next: &[NextJson]) -> String {
    let each = next.iter().map(|NextJson { command, before_percent, after_percent }| {
        let gain = format!(
            "# 80 % intervals: ±{} % before, ±{} % with it\n",
            three_digits(*before_percent),
            three_digits(*after_percent)
        );
        format!("{gain}{command}\n")
    });
    let text: String = each.collect();
    if text.is_empty() { text } else { format!("\n{text}") }
}
