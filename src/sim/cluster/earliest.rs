//! Which of many servers runs the next step.

use alloc::vec;
use alloc::vec::Vec;

/// The time and number of a server without a step: behind those of all others.
const NEVER: (u64, usize) = (u64::MAX, usize::MAX);

/// The times at which servers begin their next steps, as a tournament: the earliest of all is known at once, and a new
/// time takes a path to the root.
#[derive(Debug)]
pub(super) struct Earliest {
    /// A binary tree: the root is node 1, the parent of node `n` is `n / 2`, and the last half is the servers.
    nodes: Vec<(u64, usize)>,
}

impl Earliest {
    /// Creates the tournament of servers without a step.
    pub(super) fn new(servers: usize) -> Earliest {
        Earliest { nodes: vec![NEVER; 2 * servers] }
    }

    /// Returns the earliest time and its server, the first of several; `except` leaves a server out.
    pub(super) fn first(&self, except: Option<usize>) -> Option<(u64, usize)> {
        let first = match except {
            None => self.node(1),
            Some(server) => self.path(server).map(|node| self.node(node ^ 1)).min().unwrap_or(NEVER),
        };
        (first != NEVER).then_some(first)
    }

    /// Notes when a server begins its next step.
    pub(super) fn note(&mut self, server: usize, begins_ns: Option<u64>) {
        let leaf = self.leaf(server);
        if let Some(node) = self.nodes.get_mut(leaf) {
            *node = begins_ns.map_or(NEVER, |begins_ns| (begins_ns, server));
        }
        for node in self.path(server) {
            let first = self.node(node).min(self.node(node ^ 1));
            if let Some(parent) = self.nodes.get_mut(node / 2) {
                *parent = first;
            }
        }
    }

    fn leaf(&self, server: usize) -> usize {
        self.nodes.len() / 2 + server
    }

    fn node(&self, node: usize) -> (u64, usize) {
        self.nodes.get(node).copied().unwrap_or(NEVER)
    }

    /// The nodes from a server up to those below the root.
    fn path(&self, server: usize) -> impl Iterator<Item = usize> + use<> {
        core::iter::successors(Some(self.leaf(server)), |node| Some(node / 2)).take_while(|node| *node > 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_that_of_a_scan() {
        for servers in [1, 2, 3, 7, 8, 13] {
            let mut earliest = Earliest::new(servers);
            let mut times = vec![None; servers];
            assert_eq!(earliest.first(None), None);
            for change in 0..200_usize {
                let server = change * 31 % servers;
                times[server] = (!change.is_multiple_of(5)).then_some(u64::MAX - (change * 17 % 23) as u64);
                earliest.note(server, times[server]);
                for except in (0..servers).map(Some).chain([None]) {
                    let known = times.iter().enumerate().filter(|(server, _)| Some(*server) != except);
                    let scanned = known.filter_map(|(server, time)| Some(((*time)?, server))).min();
                    assert_eq!(earliest.first(except), scanned, "{servers} servers, change {change}");
                }
            }
        }
    }
}
