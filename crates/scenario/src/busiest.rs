//! The replica that serves most.

use std::ops::Range;

use rooflut::sim::{Observer, RequestRecord};

/// Requests per replica from which a share means something.
const MIN_REQUESTS: u64 = 10;

/// A replica that serves most of the load: more than half of the tokens of its pool, and more than one and a half
/// times its share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Busiest {
    /// The replica, counted from 0 over all servers.
    pub replica: u32,
    /// The number of replicas in its pool.
    pub replicas: u32,
    /// Its share of the tokens that the pool serves.
    pub share: f64,
}

/// Counts the tokens that each replica serves.
#[derive(Debug, Default)]
pub(crate) struct Served {
    requests: u64,
    tokens: Vec<u64>,
}

impl Served {
    fn add(&mut self, replica: u32, tokens: u64) {
        let replica = replica as usize;
        if self.tokens.len() <= replica {
            self.tokens.resize(replica + 1, 0);
        }
        if let Some(served) = self.tokens.get_mut(replica) {
            *served += tokens;
        }
    }

    /// Returns the replica of one of the `pools` that serves most of it.
    pub(crate) fn busiest(&self, pools: &[Range<u32>]) -> Option<Busiest> {
        let found = pools.iter().filter_map(|pool| self.busiest_of(pool.clone()));
        found.max_by(|one, other| one.share.total_cmp(&other.share))
    }

    fn busiest_of(&self, pool: Range<u32>) -> Option<Busiest> {
        let replicas = pool.end - pool.start;
        let served = self.tokens.iter().zip(0..).filter(|(_, replica)| pool.contains(replica));
        let total: u64 = served.clone().map(|(tokens, _)| tokens).sum();
        let (tokens, replica) = served.max()?;
        let share = *tokens as f64 / total as f64;
        let is_most = share > f64::max(0.5, 1.5 / f64::from(replicas));
        let enough = self.requests >= MIN_REQUESTS * u64::from(replicas);
        (replicas > 1 && enough && is_most).then_some(Busiest { replica, replicas, share })
    }
}

impl Observer for Served {
    fn finished(&mut self, _: usize, record: &RequestRecord) {
        let Some(timing) = record.timing() else {
            return;
        };
        self.requests += 1;
        let request = &record.request;
        match timing.kv_transfer {
            None => self.add(timing.replica, request.tokens()),
            Some(transfer) => {
                self.add(transfer.prefill_replica, request.prompt_tokens.into());
                self.add(timing.replica, request.output_tokens.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(tokens: &[u64]) -> Served {
        let tokens = tokens.to_vec();
        Served { requests: 100, tokens }
    }

    #[test]
    fn most_is_more_than_half_and_far_more_than_the_others() {
        let busiest = |tokens: &[u64]| {
            let pool = 0..tokens.len() as u32;
            let busiest = served(tokens).busiest(&[pool]);
            busiest.map(|busiest| (busiest.replica, busiest.share))
        };
        assert_eq!(busiest(&[5, 0, 15, 0]), Some((2, 0.75)));
        assert_eq!(busiest(&[5, 5, 10, 0]), None);
        assert_eq!(busiest(&[70, 30]), None);
        assert_eq!(busiest(&[20, 80]), Some((1, 0.8)));
        assert_eq!(busiest(&[20]), None);
        assert_eq!(busiest(&[0, 0]), None);
    }

    #[test]
    fn each_pool_counts_by_itself_and_few_requests_do_not() {
        let mut served = served(&[1000, 10, 10, 80]);
        let pools = [0..1, 1..4];
        let (replica, replicas, share) = (3, 3, 0.8);
        let expected = Busiest { replica, replicas, share };
        assert_eq!(served.busiest(&pools), Some(expected));
        served.requests = 29;
        assert_eq!(served.busiest(&pools), None);
    }
}
