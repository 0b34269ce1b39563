//! The published constants of the three models.

use super::CompatError;
use crate::units::Mfu;

/// Constants of InferSim. The default reproduces it on H100.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InferSimConstants {
    /// GFLOP/s in a TFLOP/s; the original uses 1024.
    pub gflops_per_tflops: f64,
    /// Achieved share of the memory bandwidth.
    pub memory_share: f64,
    /// Achieved share of the link bandwidth.
    pub link_share: f64,
    /// MFU of a GEMM without a matching row. The original has no H100, so this is its value for H800.
    pub gemm_mfu: Mfu,
    /// MFU of decode attention without a table for the shape.
    pub decode_mfu: Mfu,
    /// MFU of prefill attention without a table for the shape.
    pub prefill_mfu: Mfu,
    /// MFU of a prompt shorter than the first row of its table.
    pub short_prefill_mfu: Mfu,
    /// MFU of grouped GEMMs, which have no table.
    pub moe_mfu: Mfu,
    /// Prefill attention FLOPs of the full square are divided by this.
    pub causal_divisor: f64,
    /// Bytes of a weight, an activation and a KV entry.
    pub bytes_per_element: f64,
    /// CPU time of a prefill step, microseconds.
    pub prefill_schedule_us: f64,
    /// CPU time of a decode step, microseconds.
    pub decode_schedule_us: f64,
}

impl InferSimConstants {
    /// Constants for H100.
    pub const H100: InferSimConstants = InferSimConstants {
        gflops_per_tflops: 1024.0,
        memory_share: 0.8,
        link_share: 0.8,
        gemm_mfu: Mfu(0.35),
        decode_mfu: Mfu(0.35),
        prefill_mfu: Mfu(0.9),
        short_prefill_mfu: Mfu(0.35),
        moe_mfu: Mfu(0.35),
        causal_divisor: 1.8,
        bytes_per_element: 2.0,
        prefill_schedule_us: 30_000.0,
        decode_schedule_us: 5_000.0,
    };

    pub(super) fn check(&self) -> Result<(), CompatError> {
        check_factors(&[
            ("gflops_per_tflops", self.gflops_per_tflops),
            ("memory_share", self.memory_share),
            ("link_share", self.link_share),
            ("gemm_mfu", self.gemm_mfu.0),
            ("decode_mfu", self.decode_mfu.0),
            ("prefill_mfu", self.prefill_mfu.0),
            ("short_prefill_mfu", self.short_prefill_mfu.0),
            ("moe_mfu", self.moe_mfu.0),
            ("causal_divisor", self.causal_divisor),
            ("bytes_per_element", self.bytes_per_element),
        ])?;
        check_times(&[
            ("prefill_schedule_us", self.prefill_schedule_us),
            ("decode_schedule_us", self.decode_schedule_us),
        ])
    }
}

impl Default for InferSimConstants {
    fn default() -> InferSimConstants {
        InferSimConstants::H100
    }
}

/// Constants of BLIS's roofline. The default has the published values for H100.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlisConstants {
    /// Bytes of a weight and of a KV entry, b.
    pub bytes_per_param: f64,
    /// Achieved share of the memory bandwidth, e.
    pub bandwidth_efficiency: f64,
    /// CPU time per layer, divided by tp, microseconds.
    pub layer_overhead_us: f64,
    /// Prefill attention FLOPs of the full square are divided by this.
    pub causal_divisor: f64,
}

impl BlisConstants {
    /// Published constants for H100.
    pub const H100: BlisConstants = BlisConstants {
        bytes_per_param: 2.0,
        bandwidth_efficiency: 0.82,
        layer_overhead_us: 100.0,
        causal_divisor: 1.8,
    };

    pub(super) fn check(&self) -> Result<(), CompatError> {
        check_factors(&[
            ("bytes_per_param", self.bytes_per_param),
            ("bandwidth_efficiency", self.bandwidth_efficiency),
            ("causal_divisor", self.causal_divisor),
        ])?;
        check_times(&[("layer_overhead_us", self.layer_overhead_us)])
    }
}

impl Default for BlisConstants {
    fn default() -> BlisConstants {
        BlisConstants::H100
    }
}

/// Constants of the calibrated roofline. The default has the published values for H100 and A100.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CalibratedConstants {
    /// Bytes of a weight and of a KV entry, b.
    pub bytes_per_param: f64,
    /// Achieved share of the memory bandwidth, e.
    pub bandwidth_efficiency: f64,
    /// CPU time of a step, T, microseconds.
    pub overhead_us: f64,
    /// MFU of prefill GEMMs, m_p.
    pub prefill_mfu: f64,
    /// Multiplier of that MFU, M_p.
    pub prefill_multiplier: f64,
    /// MFU of decode GEMMs, m_d.
    pub decode_mfu: f64,
    /// Multiplier of that MFU, M_d.
    pub decode_multiplier: f64,
    /// Power of tp that divides prefill FLOPs, x.
    pub prefill_tp_exponent: f64,
    /// Factor of the bandwidth in prefill, B_p.
    pub prefill_bandwidth: f64,
    /// Factor of the bandwidth in decode, B_d.
    pub decode_bandwidth: f64,
    /// Peak of vector math as a share of the matrix peak, f.
    pub vector_share: f64,
    /// One all-reduce, microseconds.
    pub all_reduce_us: f64,
    /// CPU time per prefill request of a step without decode, microseconds.
    pub per_prefill_us: f64,
    /// CPU time per prefill request of a mixed step, microseconds.
    pub per_mixed_prefill_us: f64,
}

impl CalibratedConstants {
    /// Published constants for H100, identical to those for A100.
    pub const H100: CalibratedConstants = CalibratedConstants {
        bytes_per_param: 2.0,
        bandwidth_efficiency: 0.72,
        overhead_us: 500.0,
        prefill_mfu: 0.65,
        prefill_multiplier: 2.20,
        decode_mfu: 0.12,
        decode_multiplier: 1.80,
        prefill_tp_exponent: 0.13,
        prefill_bandwidth: 0.75,
        decode_bandwidth: 0.92,
        vector_share: 0.10,
        all_reduce_us: 20.0,
        per_prefill_us: 500.0,
        per_mixed_prefill_us: 150.0,
    };

    pub(super) fn check(&self) -> Result<(), CompatError> {
        check_factors(&[
            ("bytes_per_param", self.bytes_per_param),
            ("bandwidth_efficiency", self.bandwidth_efficiency),
            ("prefill_mfu", self.prefill_mfu),
            ("prefill_multiplier", self.prefill_multiplier),
            ("decode_mfu", self.decode_mfu),
            ("decode_multiplier", self.decode_multiplier),
            ("prefill_tp_exponent", self.prefill_tp_exponent),
            ("prefill_bandwidth", self.prefill_bandwidth),
            ("decode_bandwidth", self.decode_bandwidth),
            ("vector_share", self.vector_share),
        ])?;
        check_times(&[
            ("overhead_us", self.overhead_us),
            ("all_reduce_us", self.all_reduce_us),
            ("per_prefill_us", self.per_prefill_us),
            ("per_mixed_prefill_us", self.per_mixed_prefill_us),
        ])
    }
}

impl Default for CalibratedConstants {
    fn default() -> CalibratedConstants {
        CalibratedConstants::H100
    }
}

/// Valid factors: wide enough for any use, narrow enough that no product overflows.
const FACTORS: core::ops::RangeInclusive<f64> = 1e-9..=1e9;
/// Valid times, microseconds.
const TIMES_US: core::ops::RangeInclusive<f64> = 0.0..=1e12;

fn check_factors(constants: &[(&'static str, f64)]) -> Result<(), CompatError> {
    check_within(constants, &FACTORS)
}

fn check_times(constants: &[(&'static str, f64)]) -> Result<(), CompatError> {
    check_within(constants, &TIMES_US)
}

fn check_within(
    constants: &[(&'static str, f64)],
    range: &core::ops::RangeInclusive<f64>,
) -> Result<(), CompatError> {
    match constants.iter().find(|(_, found)| !range.contains(found)) {
        Some(&(name, found)) => Err(CompatError::Constant {
            name,
            found,
            least: *range.start(),
            most: *range.end(),
        }),
        None => Ok(()),
    }
}
