//! Errors that other tools have on points of the measured closed loops, beside those of rooflut.

use rooflut_error::Error;
use serde::Serialize;

use crate::case::{Case, Setting};
use crate::cells::{Cells, Sheet};
use crate::compare::Metric;
use crate::report::FileReport;
use crate::summary::{Summary, summarize};

const FILE: &str = "rivals_inferencex.csv";
/// Largest relative difference of one measurement in two files, which round differently.
const MAX_ROUNDING: f64 = 1e-4;

/// Errors of rooflut and of other tools on the same points, each of TPOT and of TTFT.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct HeadToHead {
    /// Model, GPU and format of weights of the points; empty for all points.
    pub servers: Vec<String>,
    /// Errors of rooflut.
    pub rooflut: [Summary; 2],
    /// Errors of AISimulate 0.13.
    pub aisimulate: [Summary; 2],
    /// Errors of AIConfigurator.
    pub aiconfigurator: [Summary; 2],
}

/// The errors on one point, in percent: TPOT and TTFT of each tool.
struct Point {
    servers: Vec<String>,
    signed: [f64; 6],
}

/// Compares the predictions of the project's closed loops with the errors that InferenceX publishes of other tools: on
/// all points, then by model, GPU and format of weights.
///
/// # Errors
/// A point of the file is not in the reports.
pub fn head_to_head(reports: &[FileReport]) -> Result<Vec<HeadToHead>, Error> {
    compared(include_bytes!("../rivals_inferencex.csv"), reports)
}

fn compared(bytes: &[u8], reports: &[FileReport]) -> Result<Vec<HeadToHead>, Error> {
    let sheet = Sheet::read(FILE, bytes)?;
    let points = sheet.rows()?.map(|cells| point(&cells, reports)).collect::<Result<Vec<Point>, Error>>()?;
    let mut groups: Vec<Vec<String>> = points.iter().map(|point| point.servers.clone()).collect();
    groups.push(Vec::new());
    groups.sort();
    groups.dedup();
    let of_group = |servers: Vec<String>| {
        let mut columns: [Vec<f64>; 6] = Default::default();
        for point in points.iter().filter(|point| point.servers.starts_with(&servers)) {
            for (column, error) in columns.iter_mut().zip(point.signed) {
                column.push(error);
            }
        }
        let [Some(a), Some(b), Some(c), Some(d), Some(e), Some(f)] = columns.map(|signed| summarize(&signed)) else {
            return None;
        };
        Some(HeadToHead { servers, rooflut: [a, b], aisimulate: [c, d], aiconfigurator: [e, f] })
    };
    Ok(groups.into_iter().filter_map(of_group).collect())
}

fn point(cells: &Cells<'_>, reports: &[FileReport]) -> Result<Point, Error> {
    let servers = ["model", "gpu", "precision"].map(|column| cells.text(column));
    let [model, gpu, _] = servers;
    let load = (cells.whole("concurrency")?, cells.whole("isl")?, cells.whole("osl")?);
    let (tp, measured) = (cells.whole("tp")?, [cells.finite("tpot_ms")?, cells.finite("ttft_ms")?]);
    let of_case = |case: &Case| {
        let is_load = matches!(case.setting, Setting::ClosedLoop { users, prompt_tokens, output_tokens, .. }
            if (users, prompt_tokens, output_tokens) == load);
        if !is_load || (case.tp, case.model, case.gpu.as_str()) != (tp, model, gpu) {
            return None;
        }
        let [tpot, ttft] = [case.comparison(Metric::Tpot)?, case.comparison(Metric::Ttft)?];
        let is_same = |(actual, measured): (f64, f64)| (actual / measured - 1.0).abs() < MAX_ROUNDING;
        let are_same = [tpot.actual, ttft.actual].into_iter().zip(measured).all(is_same);
        are_same.then(|| [tpot.signed(), ttft.signed()])
    };
    let [tpot, ttft] = reports
        .iter()
        .flat_map(|report| &report.cases)
        .find_map(of_case)
        .ok_or_else(|| cells.refuse("tpot_ms", "that of a predicted row of the closed loops with this load"))?;
    let [ais_tpot, ais_ttft] = [cells.finite("aisimulate_tpot")?, cells.finite("aisimulate_ttft")?];
    let [aic_tpot, aic_ttft] = [cells.finite("aiconfigurator_tpot")?, cells.finite("aiconfigurator_ttft")?];
    Ok(Point {
        servers: servers.map(str::to_owned).into(),
        signed: [tpot, ttft, ais_tpot, ais_ttft, aic_tpot, aic_ttft],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Predictor, read, validate};

    const MEASURED: &str = "gpu,engine,model,precision,tp,isl,osl,concurrency,ttft_ms,tpot_ms\n\
                            h100,vllm-0.15.1,llama-3.1-8b,,1,100,20,1,30,8\n\
                            h100,vllm-0.15.1,llama-3.1-8b,,1,100,20,2,30,8\n";
    const HEADER: &str = "gpu,model,precision,tp,isl,osl,concurrency,tpot_ms,ttft_ms,aisimulate_tpot,\
                          aisimulate_ttft,aiconfigurator_tpot,aiconfigurator_ttft\n";

    fn measured() -> FileReport {
        let report = validate(&read("servers.csv", MEASURED).unwrap(), &Predictor::default());
        assert_eq!(report.cases.len(), 2);
        report
    }

    fn of(points: &str) -> Result<Vec<HeadToHead>, Error> {
        compared(format!("{HEADER}{points}").as_bytes(), &[measured()])
    }

    #[test]
    fn errors_are_those_of_equal_points() {
        let both = of("h100,llama-3.1-8b,bf16,1,100,20,1,8.0,30.0,1,-2,3,4\n\
                       h100,llama-3.1-8b,fp8,1,100,20,2,8.0,30.001,-5,6,7,8\n")
        .unwrap();
        let [all, bf16, fp8] = both.as_slice() else { panic!("{both:?}") };
        assert!(all.servers.is_empty());
        assert_eq!(bf16.servers, ["llama-3.1-8b", "h100", "bf16"]);
        let rounded = |errors: [Summary; 2]| errors.map(|of| (of.mean_ape.round(), of.mean_signed.round()));
        assert_eq!(format!("{:?}", rounded(all.aisimulate)), "[(3.0, -2.0), (4.0, 2.0)]");
        assert_eq!(format!("{:?}", rounded(all.aiconfigurator)), "[(5.0, 5.0), (6.0, 6.0)]");
        assert_eq!(format!("{:?}", rounded(fp8.aisimulate)), "[(5.0, -5.0), (6.0, 6.0)]");
        let of_case =
            |case: &Case| [Metric::Tpot, Metric::Ttft].map(|metric| case.comparison(metric).unwrap().signed());
        for (group, case) in [bf16, fp8].into_iter().zip(&measured().cases) {
            let own = group.rooflut.map(|errors| errors.mean_signed);
            assert_eq!(format!("{own:?}"), format!("{:?}", of_case(case)));
        }
        assert_eq!([all, bf16, fp8].map(|group| group.rooflut[0].n), [2, 1, 1]);
    }

    #[test]
    fn a_point_that_was_not_measured_is_an_error() {
        for (point, found) in [
            ("h100,llama-3.1-8b,bf16,1,100,20,1,8.1,30,1,2,3,4\n", "8.1"),
            ("h100,llama-3.1-8b,bf16,2,100,20,1,8,30,1,2,3,4\n", "8"),
            ("h200,llama-3.1-8b,bf16,1,100,20,1,8,30,1,2,3,4\n", "8"),
            ("h100,llama-3.1-8b,bf16,1,100,21,1,8,30,1,2,3,4\n", "8"),
            ("h100,llama-3.1-8b,bf16,1,101,20,1,8,30,1,2,3,4\n", "8"),
            ("h100,llama-3.1-8b,bf16,1,100,20,3,8,30,1,2,3,4\n", "8"),
            ("h100,llama-3.1-8b,bf16,1,100,20,1,8,31,1,2,3,4\n", "8"),
            ("h100,qwen3-8b,bf16,1,100,20,1,8,30,1,2,3,4\n", "8"),
        ] {
            let expected = format!(
                "rivals_inferencex.csv:2: tpot_ms: expected that of a predicted row of the closed loops with this load, \
                 found \"{found}\"; correct this line"
            );
            assert_eq!(of(point).unwrap_err().to_string(), expected);
        }
    }
}
