//! FLOPs and bytes of kernels, and the lower bound on their time.

use core::ops::{Add, AddAssign, Mul};

use crate::Rates;
use crate::math::larger;

/// The compulsory work of a kernel: operations, memory traffic, link traffic.
///
/// Bytes count every operand once, regardless of caches.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Work {
    /// Floating-point operations (a multiply-add is two).
    pub flops: f64,
    /// Bytes from and to device memory.
    pub bytes: f64,
    /// Bytes over the link to other GPUs.
    pub link_bytes: f64,
}

impl Work {
    /// Returns the lower bound on the time of this work, seconds: the largest of FLOPs/peak, bytes/bandwidth and link
    /// bytes/link bandwidth.
    ///
    /// ```
    /// use rooflut_roofline::{Rates, Work};
    /// let rates = Rates { s_per_flop: 1e-15, s_per_byte: 2e-12, s_per_link_byte: 1e-11 };
    /// let work = Work { flops: 1e12, bytes: 1e9, link_bytes: 0.0 };
    /// assert_eq!(work.bound_s(&rates), 2e-3);
    /// ```
    #[inline]
    pub fn bound_s(&self, rates: &Rates) -> f64 {
        let on_device = larger(self.flops * rates.s_per_flop, self.bytes * rates.s_per_byte);
        larger(on_device, self.link_bytes * rates.s_per_link_byte)
    }
}

impl Add for Work {
    type Output = Work;

    #[inline]
    fn add(self, other: Work) -> Work {
        Work {
            flops: self.flops + other.flops,
            bytes: self.bytes + other.bytes,
            link_bytes: self.link_bytes + other.link_bytes,
        }
    }
}

impl Mul<f64> for Work {
    type Output = Work;

    /// Returns the work of so many such kernels.
    #[inline]
    fn mul(self, times: f64) -> Work {
        Work { flops: self.flops * times, bytes: self.bytes * times, link_bytes: self.link_bytes * times }
    }
}

impl AddAssign for Work {
    #[inline]
    fn add_assign(&mut self, other: Work) {
        *self = *self + other;
    }
}
