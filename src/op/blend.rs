//! Curves that are in no table: made from measured neighbours for weights that were not measured, or with summaries
//! in place of single rows.

use crate::hardware::GemmShape;
use crate::hardware::operation::{Codes, MAX_POINTS};
use crate::math::ln;
use crate::table::{Axis, Class, Curve, Entry, Extent, Held, KernelTable, MergedAxis, Points, Reading};

/// Maximum number of measured curves in a blend: the corners of a rectangle, or the minimum number of points in
/// Shepard's method.
pub(super) const MAX_NEIGHBOURS: usize = 4;

/// A measured shape that contributes to an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbour<S> {
    /// The measured shape.
    pub shape: S,
    /// Its share of the answer; shares add up to 1.
    pub share: f64,
}

/// The points that answer for a shape of an operation with one axis.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)] // No box: the handle owns its blend, without allocation.
pub(super) enum CurveAnswer<S> {
    /// Points that were measured on the shape, or on an equal one.
    Measured(S, Held),
    /// Points made from the points of other shapes.
    Blended(Blend<S>),
}

/// A weighted mean of measured curves.
#[derive(Debug, Clone)]
pub(super) struct Blend<S> {
    /// Every coordinate of the curves.
    axis: MergedAxis,
    ln_slowdown: [f32; MAX_POINTS],
    neighbours: [Option<Neighbour<S>>; MAX_NEIGHBOURS],
    class: Class,
    /// Minimum and maximum number of rows (tokens) at which every curve was measured, if the axes differ.
    rows: Option<[f64; 2]>,
    /// Answers for fewer rows (tokens) use a summary.
    smoothed_below: f64,
}

type GemmTable<'t> = KernelTable<'t, GemmShape, Curve<'t>>;
pub(super) type Weighted<S, P> = [Option<(Entry<S, P>, f64)>; MAX_NEIGHBOURS];

impl<S: Copy> CurveAnswer<S> {
    /// Returns the points.
    #[inline]
    pub(super) fn curve(&self) -> Curve<'_> {
        match self {
            CurveAnswer::Measured(_, held) => held.curve(),
            CurveAnswer::Blended(blend) => blend.curve(),
        }
    }

    /// Returns the slowdown at `x` rows (tokens).
    #[inline]
    pub(super) fn read(&self, x: f64, ln_x: f64) -> Reading {
        let mut reading = self.curve().read(x, ln_x);
        if let CurveAnswer::Blended(blend) = self {
            reading.provenance = reading.provenance.at_best(blend.class_at(x));
            if blend.is_outside(x) {
                reading.provenance.extent = Extent::Outside;
            }
        }
        reading
    }

    /// Returns the measured shapes with their shares.
    pub(super) fn matched(&self) -> impl Iterator<Item = Neighbour<S>> + '_ {
        let (exact, blend) = match self {
            CurveAnswer::Measured(shape, _) => (Some(Neighbour { shape: *shape, share: 1.0 }), None),
            CurveAnswer::Blended(blend) => (None, Some(blend.neighbours.iter().flatten().copied())),
        };
        exact.into_iter().chain(blend.into_iter().flatten())
    }

    /// Returns the best class that an answer can have.
    pub(super) fn class(&self) -> Class {
        match self {
            CurveAnswer::Measured(..) => Class::Measured,
            // Most queries ask for few rows (tokens).
            CurveAnswer::Blended(blend) => blend.class_at(0.0),
        }
    }
}

impl<S: Copy + From<Codes> + Into<Codes>> CurveAnswer<S> {
    /// Returns the points of an entry of a table: measured ones, unless the table is of a GPU that was not measured.
    pub(super) fn of<'t>(table: KernelTable<'t, S, Curve<'t>>, entry: &Entry<S, Curve<'t>>) -> CurveAnswer<S> {
        match table.class() {
            Class::Measured => CurveAnswer::Measured(entry.shape, table.hold(entry)),
            class => CurveAnswer::Blended(Blend::of_curve(&entry.points, entry.shape).at_best(class)),
        }
    }
}

impl Blend<GemmShape> {
    /// Returns the blend for `shape` from the shapes of a table, or `None` if none has its dtype.
    pub(super) fn of_gemms(table: GemmTable<'_>, shape: GemmShape) -> Option<Blend<GemmShape>> {
        match rectangle(table, shape) {
            Some((corners, true)) => Blend::of(&corners, Class::Interpolated),
            Some((corners, false)) => Blend::of(&corners, Class::Transferred),
            None => {
                let squared = |other: &GemmShape| {
                    let same = other.dtype == shape.dtype;
                    same.then(|| squared_log(other.k, shape.k) + squared_log(other.n, shape.n))
                };
                Blend::of(&nearest(table, squared), Class::Transferred)
            }
        }
    }
}

impl<S: Copy> Blend<S> {
    /// Returns the mean of the curves of `weighted`, or `None` if there are none.
    pub(super) fn of(weighted: &Weighted<S, Curve<'_>>, class: Class) -> Option<Blend<S>> {
        let curves = weighted.iter().flatten().map(|(entry, _)| entry.points);
        curves.clone().next()?;
        let merged = MergedAxis::of(curves.clone().map(|curve| curve.axis()));
        let axis = merged.axis();
        let mut ln_slowdown = [0.0_f32; MAX_POINTS];
        for ((slot, &x), ln_x) in ln_slowdown.iter_mut().zip(axis.values()).zip(axis.ln_values()) {
            let parts = weighted.iter().flatten();
            let mean: f64 = parts.map(|(entry, share)| entry.points.read(f64::from(x), ln_x).ln_slowdown * share).sum();
            *slot = mean as f32;
        }
        let neighbours = weighted.map(|slot| slot.map(|(entry, share)| Neighbour { shape: entry.shape, share }));
        Some(Blend {
            rows: common_rows(axis, curves),
            axis: merged,
            ln_slowdown,
            neighbours,
            class,
            smoothed_below: 0.0,
        })
    }

    /// Returns a blend that equals one measured curve.
    pub(super) fn of_curve(curve: &Curve<'_>, shape: S) -> Blend<S> {
        let mut ln_slowdown = [0.0; MAX_POINTS];
        for (slot, value) in ln_slowdown.iter_mut().zip(curve.ln_slowdown()) {
            *slot = *value;
        }
        Blend {
            rows: None,
            axis: MergedAxis::of(core::iter::once(curve.axis())),
            ln_slowdown,
            neighbours: [Some(Neighbour { shape, share: 1.0 }), None, None, None],
            class: Class::Measured,
            smoothed_below: 0.0,
        }
    }

    /// Returns the blend with a class no better than `best`.
    pub(super) fn at_best(self, best: Class) -> Blend<S> {
        Blend { class: self.class.max(best), ..self }
    }

    /// Replaces the slowdowns (as logarithms) of the first measured rows, which answer for all rows below the next
    /// one.
    pub(super) fn with_summaries(mut self, summaries: &[f32]) -> Blend<S> {
        for (slot, value) in self.ln_slowdown.iter_mut().zip(summaries) {
            *slot = *value;
        }
        let rows = self.axis.axis().values();
        self.smoothed_below = match (summaries.len(), rows.get(summaries.len())) {
            (0, _) => 0.0,
            (_, Some(&first_kept)) => f64::from(first_kept),
            (_, None) => f64::INFINITY,
        };
        self
    }

    /// Returns the blended curve. It has no latencies, because none was measured.
    #[inline]
    fn curve(&self) -> Curve<'_> {
        Curve::blended(self.axis.axis(), &self.ln_slowdown)
    }

    /// Returns the best class of an answer for `m` rows (tokens).
    fn class_at(&self, m: f64) -> Class {
        if m < self.smoothed_below { self.class.max(Class::Smoothed) } else { self.class }
    }

    /// Returns whether one of the curves was not measured at `m` rows (tokens) although the axis includes them.
    #[inline]
    fn is_outside(&self, m: f64) -> bool {
        self.rows.is_some_and(|[fewest, most]| m < fewest || m > most)
    }
}

/// Returns the minimum and maximum number of rows at which all curves were measured, if that is less than `axis`.
fn common_rows<'t>(axis: Axis<'_>, curves: impl Iterator<Item = Curve<'t>>) -> Option<[f64; 2]> {
    let all = axis.range()?;
    let common = curves
        .filter_map(|curve| curve.axis().range())
        .fold(all, |(fewest, most), (from, to)| (fewest.max(from), most.min(to)));
    (common != all).then(|| [f64::from(common.0), f64::from(common.1)])
}

/// Returns the corners of the cell of measured (k, n) around `shape`, with bilinear weights in logarithms, and
/// whether the shape lies inside. Outside, each coordinate is clamped to the measured range. Returns `None` if a
/// corner was not measured.
fn rectangle<'t>(table: GemmTable<'t>, shape: GemmShape) -> Option<(Weighted<GemmShape, Curve<'t>>, bool)> {
    let same = || table.shapes().filter(|other| other.dtype == shape.dtype);
    let k = Span::around(shape.k, same().map(|other| other.k))?;
    let n = Span::around(shape.n, same().map(|other| other.n))?;
    let corner = |k: u32, n: u32| table.find(&GemmShape { k, n, ..shape });
    let mut corners = [
        (corner(k.lo, n.lo)?, (1.0 - k.weight) * (1.0 - n.weight)),
        (corner(k.lo, n.hi)?, (1.0 - k.weight) * n.weight),
        (corner(k.hi, n.lo)?, k.weight * (1.0 - n.weight)),
        (corner(k.hi, n.hi)?, k.weight * n.weight),
    ]
    .map(Some);
    for slot in &mut corners {
        // On a measured k or n, two corners coincide with the others.
        slot.take_if(|(_, share)| *share <= 0.0);
    }
    Some((corners, k.inside && n.inside))
}

/// The measured values next to a coordinate.
struct Span {
    lo: u32,
    hi: u32,
    /// Share of `hi`.
    weight: f64,
    inside: bool,
}

impl Span {
    fn around(x: u32, values: impl Iterator<Item = u32> + Clone) -> Option<Span> {
        let below = values.clone().filter(|&value| value <= x).max();
        let above = values.filter(|&value| value >= x).min();
        match (below, above) {
            (Some(lo), Some(hi)) if lo < hi => {
                let [ln_lo, ln_x, ln_hi] = [lo, x, hi].map(|value| ln(f64::from(value)));
                Some(Span { lo, hi, weight: (ln_x - ln_lo) / (ln_hi - ln_lo), inside: true })
            }
            (Some(on), Some(_)) => Some(Span { lo: on, hi: on, weight: 0.0, inside: true }),
            (Some(edge), None) | (None, Some(edge)) => Some(Span { lo: edge, hi: edge, weight: 0.0, inside: false }),
            (None, None) => None,
        }
    }
}

/// Returns the nearest measured shapes, weighted by the inverse of the squared distance; those for which `squared`
/// returns `None` are left out.
///
/// Source: D. Shepard, "A two-dimensional interpolation function for irregularly-spaced data" (1968), for the
/// exponent 2 and the nearest four to ten points. Neither was tuned.
pub(super) fn nearest<'t, S, P>(table: KernelTable<'t, S, P>, squared: impl Fn(&S) -> Option<f64>) -> Weighted<S, P>
where
    S: From<Codes> + Into<Codes> + Copy,
    P: From<Points<'t>> + Copy,
{
    let mut best: Weighted<S, P> = [None; MAX_NEIGHBOURS];
    for entry in table.entries() {
        let distance = squared(&entry.shape).map(|squared| squared.max(EQUAL));
        let mut candidate = distance.map(|distance| (entry, distance));
        let mut inserted = false;
        for slot in &mut best {
            let distance = |slot: &Option<(_, f64)>| slot.map_or(f64::INFINITY, |(_, squared)| squared);
            // Insertion into the sorted slots; ties keep the earlier entry.
            if inserted || distance(&candidate) < distance(slot) {
                inserted = true;
                core::mem::swap(slot, &mut candidate);
            }
        }
    }
    let total: f64 = best.iter().flatten().map(|(_, squared)| 1.0 / squared).sum();
    best.map(|slot| slot.map(|(entry, squared)| (entry, 1.0 / (squared * total))))
}

/// Squared distance of shapes that one rank computes alike. Others are a thousand times as far away or more.
const EQUAL: f64 = 1e-12;

/// Returns the square of the logarithm of the ratio of two sizes: twice and half as many are exactly as far away.
pub(super) fn squared_log(a: impl Into<f64>, b: impl Into<f64>) -> f64 {
    let apart = ln(a.into() / b.into());
    apart * apart
}
