//! The servers of a deployment.

use rooflut_report::Price;
use rooflut_scenario::{Error, Prices, Run, Server};

use crate::variant::{Links, Variant};

/// The servers of a deployment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Servers<'q> {
    /// The servers that decode; they also prefill if no others do.
    pub(crate) variant: &'q Variant,
    /// The prefill servers, if they are separate.
    pub(crate) prefill: Option<(&'q Variant, u32)>,
    /// Number of servers of `variant`.
    pub(crate) count: u32,
}

impl<'q> Servers<'q> {
    /// Returns the number of all servers.
    pub(crate) fn all(&self) -> u32 {
        let prefill = self.prefill.map_or(0, |(_, count)| count);
        prefill.saturating_add(self.count)
    }

    /// Returns the number of their GPUs.
    pub(crate) fn gpus(&self) -> u32 {
        let prefill = self.prefill.map_or(0, |(variant, count)| variant.gpus().saturating_mul(count));
        prefill.saturating_add(self.variant.gpus().saturating_mul(self.count))
    }

    /// Returns their cost, by which deployments are ordered.
    pub(crate) fn cost(&self) -> f64 {
        match self.prefill {
            // Not the sum of two products, which may differ in the last digits.
            Some((prefill, count)) if prefill.index == self.variant.index => {
                prefill.cost(count.saturating_add(self.count))
            }
            Some((prefill, count)) => prefill.cost(count) + self.variant.cost(self.count),
            None => self.variant.cost(self.count),
        }
    }

    /// Returns the kinds of servers: of those that decode, and of separate prefill servers.
    pub(crate) fn kind(&self) -> (usize, Option<usize>) {
        (self.variant.index, self.prefill.map(|(variant, _)| variant.index))
    }

    /// Returns its place among deployments of the same cost and headroom.
    pub(crate) fn place(&self) -> impl Ord + use<> {
        let prefill = self.prefill.map(|(variant, count)| (variant.index, count));
        (self.variant.index, prefill, self.count)
    }

    /// Returns them with another number of servers of `variant`.
    pub(crate) fn with_count(self, count: u32) -> Servers<'q> {
        Servers { count, ..self }
    }

    /// Returns the prefill servers if they are of another kind.
    pub(crate) fn unlike(&self) -> Option<&'q Variant> {
        let (prefill, _) = self.prefill?;
        (prefill.index != self.variant.index).then_some(prefill)
    }

    /// Returns the price of their GPUs, a mean if it differs; `None` if one is not known.
    pub(crate) fn price(&self, prices: &Prices) -> Option<Price> {
        let of = |variant: &Variant, servers: u32| {
            let name = variant.run.placement().tables.gpu().name.as_str();
            Some((u64::from(variant.gpus()) * u64::from(servers), name.to_owned(), prices.of(name)?.clone()))
        };
        let own = of(self.variant, self.count)?;
        let Some((prefill, count)) = self.prefill else {
            return Some(own.2);
        };
        let other = of(prefill, count)?;
        if other.1 == own.1 {
            return Some(own.2);
        }
        let each = [other, own];
        Price::mean(&each.each_ref().map(|(gpus, name, price)| (*gpus, name.as_str(), price.clone())))
    }

    /// Returns the run on these servers.
    pub(crate) fn run(&self, links: Option<Links>) -> Result<Run, Error> {
        let mut counts = Server::default();
        match self.prefill {
            None => counts.replicas = Some(self.count),
            Some((_, prefill)) => {
                counts.prefill_replicas = Some(prefill);
                counts.decode_replicas = Some(self.count);
                counts.link_bandwidth = links.map(|links| links.bandwidth_gb_per_s);
                counts.link_latency = links.map(|links| links.latency_us);
            }
        }
        match self.unlike() {
            None => self.variant.run.with_servers(&counts),
            Some(prefill) => Run::with_pools(&prefill.run, &self.variant.run, &counts),
        }
    }
}
