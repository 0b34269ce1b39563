//! Kernels of layers that are alike.

#[cfg(feature = "alloc")]
use alloc::vec::Vec;

use super::kernel_time::KernelTime;
use crate::error::Error;
use crate::model::{LayerGroup, Layers};
#[cfg(feature = "alloc")]
use crate::units::Seconds;

/// Kernels by kind, each with the number of layers that run it.
///
/// Groups of layers that differ elsewhere share a kind, so each kernel of a step is looked up once.
#[derive(Debug, Clone)]
pub(super) struct Kinds<T> {
    first: (f64, T),
    #[cfg(feature = "alloc")]
    others: Vec<(f64, T)>,
}

impl<T> Kinds<T> {
    /// Calls `resolve` once for each distinct `key` of the groups.
    ///
    /// # Errors
    /// As `resolve`; several keys without an allocator.
    pub(super) fn resolve<K: PartialEq>(
        layers: &Layers,
        key: impl Fn(&LayerGroup) -> K,
        mut resolve: impl FnMut(K) -> Result<T, Error>,
    ) -> Result<Kinds<T>, Error> {
        let mut kind = |group| {
            let own = key(group);
            let alike = layers.iter().filter(|other| key(other) == own);
            let count = alike.fold(0, |sum: u32, other| sum.saturating_add(other.layers));
            Ok::<_, Error>((f64::from(count), resolve(own)?))
        };
        let mut others = layers.iter().enumerate().skip(1).filter(|(index, group)| {
            let mut before = layers.iter().take(*index);
            before.all(|other| key(other) != key(group))
        });
        #[cfg(not(feature = "alloc"))]
        if others.next().is_some() {
            return Err(Error::needs_alloc("layers of several kinds"));
        }
        Ok(Kinds {
            first: kind(layers.first())?,
            #[cfg(feature = "alloc")]
            others: others.by_ref().map(|(_, group)| kind(group)).collect::<Result<_, _>>()?,
        })
    }

    /// Calls `run` with the kernels of each kind and the number of its layers.
    #[inline]
    pub(super) fn each(&self, mut run: impl FnMut(f64, &T)) {
        let (layers, first) = &self.first;
        run(*layers, first);
        #[cfg(feature = "alloc")]
        if !self.others.is_empty() {
            each(&self.others, run);
        }
    }

    /// Returns the kernels of each kind and the number of its layers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (f64, &T)> {
        let kinds = core::iter::once(&self.first);
        #[cfg(feature = "alloc")]
        let kinds = kinds.chain(&self.others);
        kinds.map(|(layers, kernels)| (*layers, kernels))
    }

    /// Returns a kernel in all layers.
    pub(super) fn sum(&self, once: impl Fn(&T) -> KernelTime) -> KernelTime {
        let (layers, first) = &self.first;
        let sum = once(first).times(*layers);
        #[cfg(feature = "alloc")]
        let sum = self.others.iter().fold(sum, |sum, (layers, kernels)| sum.plus(once(kernels).times(*layers)));
        sum
    }

    /// Returns the time of a kernel in all layers: that of [`sum`](Kinds::sum), which does not compute the rest.
    #[cfg(feature = "alloc")]
    #[inline]
    pub(super) fn time(&self, once: impl Fn(&T) -> Seconds) -> Seconds {
        let (layers, first) = &self.first;
        let sum = once(first) * *layers;
        #[cfg(feature = "alloc")]
        if !self.others.is_empty() {
            return add(sum, &self.others, once);
        }
        sum
    }

    /// Returns the kernels of the kind with the most layers.
    pub(super) fn most(&self) -> &T {
        let (_, first) = &self.first;
        let first = (self.first.0, first);
        let most = |one: (f64, _), other: (f64, _)| if other.0 > one.0 { other } else { one };
        let (_, kernels) = self.iter().fold(first, most);
        kernels
    }
}

#[cfg(feature = "alloc")]
#[cold] // Most models have layers of one kind.
fn each<T>(kinds: &[(f64, T)], mut run: impl FnMut(f64, &T)) {
    for (layers, kernels) in kinds {
        run(*layers, kernels);
    }
}

#[cfg(feature = "alloc")]
#[cold] // As above.
fn add<T>(sum: Seconds, kinds: &[(f64, T)], once: impl Fn(&T) -> Seconds) -> Seconds {
    kinds.iter().fold(sum, |sum, (layers, kernels)| sum + once(kernels) * *layers)
}
