//! Work on several threads, with its results in order.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use rooflut_scenario::{Error, Kind};

/// Results that may wait for an earlier one, for each thread.
const WINDOW: u64 = 256;

/// Makes the items of `places` on `threads` threads and passes each to `take`, in order.
///
/// Memory does not grow with the number of items: no item is begun until that a whole window before it is taken.
/// An item that `take` rejects ends the work.
///
/// These are threads of their own, as a thread of rayon's pool that waits in one item may begin another one, and the
/// first would wait for the second.
///
/// # Panics
/// As `make` or `take` do: the panic of a thread is passed on when its item is due, which would never come otherwise.
///
/// # Errors
/// No thread can be started, or the error of `take`.
pub(crate) fn ordered<T: Send, E: From<Error>>(
    places: impl Iterator<Item = u64> + Clone,
    threads: usize,
    make: impl Fn(u64) -> T + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let (begin, begun) = mpsc::channel();
    let begun = Mutex::new(begun);
    thread::scope(|scope| {
        let begin = begin;
        let (finish, finished) = mpsc::channel();
        for _ in 0..threads.max(1) {
            let finish = finish.clone();
            let (begun, make) = (&begun, &make);
            let work = move || {
                let next = || begun.lock().unwrap_or_else(PoisonError::into_inner).recv();
                while let Ok(place) = next() {
                    let made = catch_unwind(AssertUnwindSafe(|| make(place)));
                    if finish.send((place, made)).is_err() {
                        break;
                    }
                }
            };
            let thread = thread::Builder::new().spawn_scoped(scope, work);
            thread.map_err(|error| Error::new(Kind::Io, format!("cannot start a thread: {error}; use fewer")))?;
        }
        drop(finish);
        let mut coming = places.clone();
        for place in coming.by_ref().take(window(threads)) {
            let _ = begin.send(place);
        }
        let mut waiting = BTreeMap::new();
        for place in places {
            let made = loop {
                if let Some(made) = waiting.remove(&place) {
                    break made;
                }
                match finished.recv() {
                    Ok((place, made)) => waiting.insert(place, made),
                    // None ends before `begin` does.
                    Err(_) => return Err(Error::new(Kind::Io, "no thread is left; use --resume").into()),
                };
            };
            take(made.unwrap_or_else(|panic| resume_unwind(panic)))?;
            if let Some(next) = coming.next() {
                let _ = begin.send(next);
            }
        }
        Ok(())
    })
}

fn window(threads: usize) -> usize {
    threads.max(1).saturating_mul(WINDOW as usize)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn items_are_taken_in_order_by_any_number_of_threads() {
        for threads in [1, 2, 7] {
            let mut taken = Vec::new();
            let places = (0..5_000).step_by(3);
            let make = |place| place * 2;
            let take = |item| {
                taken.push(item);
                Ok::<_, Error>(())
            };
            ordered(places.clone(), threads, make, take).unwrap();
            assert_eq!(taken, places.map(|place| place * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn no_item_is_begun_a_window_before_the_first_that_is_not_taken() {
        let (taken, ahead) = (AtomicU64::new(0), AtomicU64::new(0));
        let make = |place: u64| {
            let before = taken.load(Ordering::SeqCst);
            ahead.fetch_max(place - before.min(place), Ordering::SeqCst);
            // The others overtake the first.
            while place == 0 && ahead.load(Ordering::SeqCst) <= WINDOW {
                thread::yield_now();
            }
        };
        let take = |()| {
            taken.fetch_add(1, Ordering::SeqCst);
            Ok::<_, Error>(())
        };
        ordered(0..10_000, 3, make, take).unwrap();
        let ahead = ahead.into_inner();
        assert!((WINDOW + 1..=3 * WINDOW).contains(&ahead), "{ahead}");
    }

    #[test]
    fn a_panic_ends_the_work() {
        let make = |place| match place {
            10 => panic!("item 10"),
            place => place,
        };
        let work = || ordered(0..1_000_000, 2, make, |_| Ok::<_, Error>(()));
        assert!(catch_unwind(work).is_err());
    }

    #[test]
    fn an_item_that_is_rejected_ends_the_work() {
        let made = AtomicU64::new(0);
        let make = |place| {
            made.fetch_add(1, Ordering::SeqCst);
            place
        };
        let take = |place| match place {
            10 => Err(Error::new(Kind::Io, "full")),
            _ => Ok(()),
        };
        let error = ordered(0..1_000_000, 2, make, take).expect_err("rejected");
        assert!(error.to_string().contains("full"));
        assert!(made.into_inner() < 10_000);
    }
}
