//! The link between prefill and decode servers.

use crate::sim::SimError;
use crate::units::Seconds;

/// The link over which a prefill server sends KV entries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KvLink {
    bytes_per_s: f64,
    latency: Seconds,
    bytes_per_token: f64,
}

impl KvLink {
    /// A link that carries `bytes_per_s` of each prefill server, over which the `kv_bytes_per_token` of a
    /// token (all layers, all ranks) arrive `latency` after they were sent.
    ///
    /// # Errors
    /// [`SimError::InvalidParameter`] for figures that are not positive and finite, and for a latency that is
    /// not from 0 to an hour.
    pub fn try_new(
        bytes_per_s: f64,
        latency: Seconds,
        kv_bytes_per_token: f64,
    ) -> Result<KvLink, SimError> {
        let positive = "a positive, finite number";
        let checks = [
            ("link bandwidth", positive, bytes_per_s, bytes_per_s > 0.0),
            (
                "link latency",
                "a time from 0 to an hour, in seconds",
                latency.0,
                (0.0..=3_600.0).contains(&latency.0),
            ),
            (
                "KV bytes per token",
                positive,
                kv_bytes_per_token,
                kv_bytes_per_token > 0.0,
            ),
        ];
        for (parameter, expected, found, possible) in checks {
            if !(possible && found.is_finite()) {
                return Err(SimError::InvalidParameter {
                    parameter,
                    expected,
                    found,
                });
            }
        }
        Ok(KvLink {
            bytes_per_s,
            latency,
            bytes_per_token: kv_bytes_per_token,
        })
    }

    /// The latency of the link, in nanoseconds.
    pub(super) fn latency_ns(&self) -> u64 {
        self.latency.to_nanos()
    }

    /// How long the KV entries of `tokens` occupy the link, in nanoseconds.
    pub(super) fn occupied_ns(&self, tokens: u32) -> u64 {
        Seconds(f64::from(tokens) * self.bytes_per_token / self.bytes_per_s).to_nanos()
    }
}
