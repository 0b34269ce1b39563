//! Predicts and compares each row.

use rayon::prelude::*;

use crate::case::{Case, Setting};
use crate::compare::Metric;
use crate::dataset::Rows;
use crate::engine::{Choice, Predictor};
use crate::pair::Pair;
use crate::predict::{self, Reason, Replay, ResolvedServer};
use crate::rows::{
    DecodeStep, KvBlockCount, Label, Latencies, LoadStage, ReplayedRequest, Server, SoloRequest,
};
use crate::tally::Remark;

/// The result of a row.
pub(crate) struct Outcome {
    /// The case, if any metric could be predicted and compared.
    pub(crate) case: Option<Case>,
    /// Line of the row.
    pub(crate) line: u64,
    /// Reasons that metrics are left out.
    pub(crate) skipped: Vec<Remark>,
    /// Notes on names that were not taken literally.
    pub(crate) notes: Vec<String>,
}

/// Returns the outcome of each row, in the order of the rows.
pub(crate) fn outcomes(rows: &Rows, predictor: &Predictor<'_>) -> Vec<Outcome> {
    match rows {
        Rows::LoadStages(rows) => rows
            .par_iter()
            .map(|row| load_stage(row, predictor))
            .collect(),
        Rows::Requests(rows) => requests(rows, predictor),
        Rows::SoloRequests(rows) => rows
            .par_iter()
            .map(|row| solo_request(row, predictor))
            .collect(),
        Rows::DecodeSteps(rows) => rows
            .par_iter()
            .map(|row| decode_step(row, predictor))
            .collect(),
        Rows::KvBlocks(rows) => rows
            .par_iter()
            .map(|row| kv_blocks(row, predictor))
            .collect(),
    }
}

/// The fields of a row beside its measurements.
struct Origin<'r> {
    label: &'r Label,
    server: &'r Server,
    setting: Setting,
}

impl Origin<'_> {
    /// Compares the pairs that were predicted with the engine of `choice`.
    fn outcome(&self, choice: &Choice<'_>, predicted: Result<Vec<Pair>, Reason>) -> Outcome {
        let deployed = predicted.and_then(|pairs| Ok((ResolvedServer::find(self.server)?, pairs)));
        match deployed {
            Ok((deployment, pairs)) => self.compare(choice, deployment, &pairs),
            Err(reason) => Outcome {
                case: None,
                line: self.label.line,
                skipped: vec![self.remark(&reason)],
                notes: Vec::new(),
            },
        }
    }

    /// Returns the reason as a remark that names the server if the reason depends on it.
    fn remark(&self, reason: &Reason) -> Remark {
        match ResolvedServer::find(self.server) {
            Ok(server) if reason.depends_on_server() => Remark::new(format!("{server}: {reason}")),
            _ => reason.remark(),
        }
    }

    fn compare(&self, choice: &Choice<'_>, deployment: ResolvedServer, pairs: &[Pair]) -> Outcome {
        let mut comparisons = Vec::new();
        let mut skipped = Vec::new();
        for pair in pairs {
            match pair.compare() {
                Ok(comparison) => comparisons.extend(comparison),
                Err(reason) => skipped.push(self.remark(&reason)),
            }
        }
        if comparisons.is_empty() && skipped.is_empty() {
            skipped.push(Reason::NothingMeasured.remark());
        }
        let mut notes = deployment.notes;
        notes.extend(choice.note(&self.server.engine));
        let case = Case {
            label: self.label.clone(),
            model: deployment.model,
            gpu: deployment.set.name().to_owned(),
            tp: deployment.tp,
            engine: choice.engine.name,
            setting: self.setting,
            comparisons,
        };
        Outcome {
            line: case.label.line,
            case: (!case.comparisons.is_empty()).then_some(case),
            skipped,
            notes,
        }
    }
}

fn latencies(predicted: &Latencies, measured: &Latencies) -> Vec<Pair> {
    let pair = |metric, of: fn(&Latencies) -> Option<f64>| Pair {
        metric,
        predicted: Ok(of(predicted)),
        measured: of(measured),
    };
    vec![
        pair(Metric::Ttft, |l| l.ttft_ms),
        pair(Metric::Tpot, |l| l.tpot_ms),
        pair(Metric::E2e, |l| l.e2e_ms),
    ]
}

fn load_stage(row: &LoadStage, predictor: &Predictor<'_>) -> Outcome {
    let choice = predictor.engine(&row.server.engine);
    let predicted = predict::load_stage(row, choice.engine, predictor.longest_stage_s);
    let rate_rps = row.rate_rps;
    let origin = Origin {
        label: &row.label,
        server: &row.server,
        setting: Setting::Load {
            rate_rps,
            mean_batch: row.measured.e2e_ms.map(|e2e_ms| rate_rps * e2e_ms / 1e3),
        },
    };
    let pairs = predicted.map(|predicted| latencies(&predicted, &row.measured));
    origin.outcome(&choice, pairs)
}

fn requests(rows: &[ReplayedRequest], predictor: &Predictor<'_>) -> Vec<Outcome> {
    let runs = predict::replays(rows);
    let outcomes = runs.par_iter().flat_map(|run| replay(run, predictor));
    let mut placed: Vec<(usize, Outcome)> = outcomes.collect();
    placed.sort_unstable_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, outcome)| outcome).collect()
}

/// Returns the outcomes of the rows of a run, with their indices in the file.
fn replay(run: &Replay<'_>, predictor: &Predictor<'_>) -> Vec<(usize, Outcome)> {
    let engine = run.rows.first().map_or("", |(_, row)| &row.server.engine);
    let choice = predictor.engine(engine);
    let predicted = match predict::replay(run, choice.engine) {
        Ok(predicted) => predicted,
        Err(reason) => vec![Err(reason); run.rows.len()],
    };
    let rows = run.rows.iter().zip(predicted);
    let outcome = |(&(place, row), predicted): (&(usize, &ReplayedRequest), Result<_, Reason>)| {
        let origin = Origin {
            label: &row.label,
            server: &row.server,
            setting: Setting::Request {
                prompt_tokens: row.prompt_tokens,
                output_tokens: Some(row.output_tokens),
            },
        };
        let pairs = predicted.map(|predicted| latencies(&predicted, &row.measured));
        (place, origin.outcome(&choice, pairs))
    };
    rows.map(outcome).collect()
}

fn solo_request(row: &SoloRequest, predictor: &Predictor<'_>) -> Outcome {
    let choice = predictor.engine(&row.server.engine);
    let pairs = predict::solo_request(row, choice.engine).map(|solo| {
        let prefill = Pair {
            metric: Metric::Prefill,
            predicted: Ok(Some(solo.prefill_ms)),
            measured: row.prefill_ms,
        };
        let tpot = Pair {
            metric: Metric::Tpot,
            predicted: solo.tpot_ms,
            measured: row.tpot_ms,
        };
        vec![prefill, tpot]
    });
    let origin = Origin {
        label: &row.label,
        server: &row.server,
        setting: Setting::Request {
            prompt_tokens: row.prompt_tokens,
            output_tokens: None,
        },
    };
    origin.outcome(&choice, pairs)
}

fn decode_step(row: &DecodeStep, predictor: &Predictor<'_>) -> Outcome {
    let choice = predictor.engine(&row.server.engine);
    let pair = |predicted| Pair {
        metric: Metric::Step,
        predicted: Ok(Some(predicted)),
        measured: row.step_ms,
    };
    let pairs = predict::decode_step(row, choice.engine).map(|predicted| vec![pair(predicted)]);
    let origin = Origin {
        label: &row.label,
        server: &row.server,
        setting: Setting::Batch {
            requests: row.decode_requests,
        },
    };
    origin.outcome(&choice, pairs)
}

fn kv_blocks(row: &KvBlockCount, predictor: &Predictor<'_>) -> Outcome {
    let choice = predictor.engine(&row.server.engine);
    let pair = |predicted: u32| Pair {
        metric: Metric::KvBlocks,
        predicted: Ok(Some(f64::from(predicted))),
        measured: row.kv_blocks,
    };
    let pairs = predict::kv_blocks(row).map(|predicted| vec![pair(predicted)]);
    let origin = Origin {
        label: &row.label,
        server: &row.server,
        setting: Setting::Start,
    };
    origin.outcome(&choice, pairs)
}
