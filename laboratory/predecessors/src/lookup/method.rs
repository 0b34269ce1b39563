//! Lookup methods between measured rows: rooflut's own and those of the predecessors.

use super::{MfuCurve, MfuGrid, blis, infersim};
use rooflut::units::{Mfu, Seconds};
use rooflut_error::Error;
use rooflut_roofline::Work;

/// The method of a lookup, for cross-checks with the predecessors on the same tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Method {
    /// Rooflut's own: efficiency against the roofline, interpolated in logarithms.
    #[default]
    Efficiency,
    /// InferSim: the MFU of the next smaller (GEMM, prefill) or the nearest (decode) row.
    InferSim,
    /// BLIS: MFU interpolated linearly.
    Blis,
}

/// Default MFU of InferSim's GEMMs and decode attention on H100.
const INFERSIM_MFU: Mfu = Mfu(0.35);

impl Method {
    /// All methods.
    pub const ALL: [Method; 3] = [Method::Efficiency, Method::InferSim, Method::Blis];

    /// Returns the name of the method.
    pub const fn name(self) -> &'static str {
        match self {
            Method::Efficiency => "efficiency",
            Method::InferSim => "infersim",
            Method::Blis => "blis",
        }
    }

    /// Returns a predecessor's time of `work` at `x` on a curve.
    pub(crate) fn on_curve(self, curve: &MfuCurve, work: Work, x: u32) -> Result<Seconds, Error> {
        let reading = match self {
            Method::InferSim => infersim::floor_mfu(curve, f64::from(x), INFERSIM_MFU)?,
            // Rooflut's own method is never passed here: it has no MFU to interpolate.
            Method::Blis | Method::Efficiency => blis::linear_mfu(curve, f64::from(x))?,
        };
        Ok(Seconds(work.flops / curve.peak_flops_per_s() / reading.mfu.0))
    }

    /// Returns a predecessor's time of decode `work` on a grid.
    pub(crate) fn on_grid(self, grid: &MfuGrid, work: Work, batch: u32, kv_len: u32) -> Result<Seconds, Error> {
        let (batch, kv_len) = (f64::from(batch), f64::from(kv_len));
        let reading = match self {
            Method::InferSim => infersim::nearest_mfu(grid, batch, kv_len)?,
            // Rooflut's own method is never passed here: it has no MFU to interpolate.
            Method::Blis | Method::Efficiency => blis::bilinear_mfu(grid, batch, kv_len)?,
        };
        Ok(Seconds(work.flops / grid.peak_flops_per_s() / reading.mfu.0))
    }
}
