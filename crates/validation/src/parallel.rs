//! Independent work on all cores.

use std::num::NonZeroUsize;
use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// `work` of each item, in the order of the items.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(place) else {
                return done;
            };
            done.push((place, work(item)));
        }
    };
    let mut done: Vec<(usize, R)> = thread::scope(|scope| {
        let workers = 1..cores.min(items.len());
        let workers: Vec<_> = workers.map(|_| scope.spawn(take)).collect();
        let mut done = take();
        for worker in workers {
            match worker.join() {
                Ok(more) => done.extend(more),
                Err(panic) => panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..1000).collect();
        let doubled: Vec<u64> = items.iter().map(|item| 2 * item).collect();
        assert_eq!(map(&items, |item| 2 * item), doubled);
        assert_eq!(map(&[], |item: &u64| *item), [0; 0]);
    }

    #[test]
    #[should_panic(expected = "the third")]
    fn a_panic_of_a_worker_is_not_swallowed() {
        map(&[1, 2, 3, 4], |item| assert_ne!(*item, 3, "the third"));
    }
}
