//! Times in another unit than they are read in.

use rooflut_error::Error;

use crate::json::contents;
use crate::run::Run;

/// The times of a closed loop that differ by this factor from those that its throughput tells are of another unit.
const FAR: f64 = 30.0;

/// Refuses closed loops whose times contradict the throughput.
pub(crate) fn check(runs: &[Run]) -> Result<(), Error> {
    for run in runs {
        let Some((expected, found)) = expected(run).zip(found(run)) else { continue };
        if !(1.0 / FAR..=FAR).contains(&(found / expected)) {
            let source = run.sources.get("load").map_or_else(|| run.client.clone(), String::clone);
            return Err(contents(format!(
                "{source}: at its throughput, a request takes {expected:.2} ms on average, found {found:.4}: the times seem \
                 to be in another unit; give the file as the client wrote it"
            )));
        }
    }
    Ok(())
}

/// Returns the mean time of a request, milliseconds, by Little's law.
fn expected(run: &Run) -> Option<f64> {
    let users = run.load.users.filter(|_| run.is_closed_loop())?;
    let completed = run.load.completed?;
    let per_s = run.requests_per_s.or_else(|| Some(completed as f64 / run.duration_s?))?;
    (per_s > 0.0).then(|| 1e3 * users.min(completed) as f64 / per_s)
}

/// Returns the mean time of a request, milliseconds, as measured.
fn found(run: &Run) -> Option<f64> {
    let tokens = run.load.output_tokens.mean;
    let summed = || Some(run.ttft_ms.mean? + run.tpot_ms.mean? * (tokens? - 1.0).max(0.0));
    run.e2e_ms.mean.or_else(summed).filter(|time| *time > 0.0)
}
