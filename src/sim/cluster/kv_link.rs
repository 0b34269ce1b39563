//! The link between prefill and decode servers.

use crate::error::Invalid;
use crate::units::Seconds;

/// The link that each prefill server, or each of its data-parallel ranks, sends KV entries over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KvLink {
    bytes_per_s: f64,
    latency: Seconds,
    bytes_per_token: f64,
}

impl KvLink {
    /// Creates a link with a bandwidth of `bytes_per_s` per prefill server, or data-parallel rank of one, and a latency.
    ///
    /// `kv_bytes_per_token` is the size of a token's KV entries on all layers and all tensor-parallel ranks.
    ///
    /// # Errors
    /// [`Invalid`] unless bandwidth and size are positive and finite and the latency is at most
    /// an hour.
    pub fn try_new(bytes_per_s: f64, latency: Seconds, kv_bytes_per_token: f64) -> Result<KvLink, Invalid> {
        let positive = "expected a positive, finite number, found {}";
        let checks = [
            ("link bandwidth", positive, bytes_per_s, bytes_per_s > 0.0),
            (
                "link latency",
                "expected a time from 0 to an hour, in seconds, found {}",
                latency.0,
                (0.0..=3_600.0).contains(&latency.0),
            ),
            ("KV bytes per token", positive, kv_bytes_per_token, kv_bytes_per_token > 0.0),
        ];
        for (parameter, text, found, possible) in checks {
            if !(possible && found.is_finite()) {
                return Err(Invalid::new(parameter, text, &[found.into()]));
            }
        }
        Ok(KvLink { bytes_per_s, latency, bytes_per_token: kv_bytes_per_token })
    }

    /// Returns how long the KV entries of `tokens` occupy the link, in nanoseconds.
    pub(super) fn occupied_ns(&self, tokens: u32) -> u64 {
        Seconds(f64::from(tokens) * self.bytes_per_token / self.bytes_per_s).to_nanos()
    }
}

/// The link of one prefill server or rank, which sends one request after the other.
///
/// ```
/// use rooflut::sim::cluster::{KvLink, LinkQueue};
/// use rooflut::units::Seconds;
/// let mut link = LinkQueue::new(KvLink::try_new(1e9, Seconds::from_us(5.0), 1_000.0)?);
/// // A microsecond for a token.
/// assert_eq!(link.send(50_000, 20).delivered_ns, 75_000);
/// assert_eq!(link.send(60_000, 20).delivered_ns, 95_000);
/// # Ok::<(), rooflut::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct LinkQueue {
    link: KvLink,
    /// When the link has sent all that was given to it.
    free_ns: u64,
}

/// The transfer of a request's KV entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transfer {
    /// How long it occupies the link, in nanoseconds.
    pub occupied_ns: u64,
    /// When the KV entries are at the decode server, in nanoseconds from the start.
    pub delivered_ns: u64,
}

impl LinkQueue {
    /// Creates an idle link.
    pub fn new(link: KvLink) -> LinkQueue {
        LinkQueue { link, free_ns: 0 }
    }

    /// Sends the KV entries of `tokens`, which are ready at `ready_ns`, after those before.
    pub fn send(&mut self, ready_ns: u64, tokens: u32) -> Transfer {
        let occupied_ns = self.link.occupied_ns(tokens);
        self.free_ns = ready_ns.max(self.free_ns).saturating_add(occupied_ns);
        Transfer { occupied_ns, delivered_ns: self.free_ns.saturating_add(self.link.latency.to_nanos()) }
    }
}
