//! Figures by priority.

use std::collections::BTreeMap;

use rooflut::sim::figures::Digest;
use rooflut::sim::{Observer, RequestRecord};
use rooflut_report::PriorityClass;

/// Maximum number of priorities with figures of their own: each has a digest.
const MAX_CLASSES: usize = 64;

/// An observer that computes the figures of each priority.
#[derive(Debug)]
pub(crate) struct Classes {
    /// An empty digest.
    empty: Digest,
    /// `None` from the first priority on that is one too many.
    digests: Option<BTreeMap<u32, Digest>>,
}

impl Classes {
    pub(crate) fn new(empty: Digest) -> Classes {
        Classes { empty, digests: Some(BTreeMap::new()) }
    }

    /// Forgets all requests so far.
    pub(crate) fn restart(&mut self) {
        self.digests = Some(BTreeMap::new());
    }

    /// Returns the figures, the most urgent priority first; `None` for too many priorities.
    pub(crate) fn into_figures(self) -> Option<Vec<PriorityClass>> {
        let classes = self.digests?.into_iter().map(|(priority, digest)| PriorityClass::of(priority, digest));
        Some(classes.collect())
    }
}

impl Observer for Classes {
    fn finished(&mut self, index: usize, record: &RequestRecord) {
        let Some(digests) = &mut self.digests else {
            return;
        };
        let digest = digests.entry(record.request.priority).or_insert_with(|| self.empty.clone());
        digest.finished(index, record);
        if digests.len() > MAX_CLASSES {
            self.digests = None;
        }
    }
}
