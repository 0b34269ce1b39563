//! Repeated kernels: blocks that were appended again, files that overlap.

use crate::reading::{Reading, Reason};

/// The readings of one kernel.
#[derive(Debug, PartialEq)]
pub(crate) struct Repeats {
    /// The index of the reading that is kept.
    pub(crate) kept: usize,
    /// The indices of the others, and why they are left out.
    pub(crate) dropped: Vec<(usize, Reason)>,
    /// The longest latency over the shortest.
    pub(crate) spread: f64,
}

/// Finds the kernels that occur in `readings` more than once.
///
/// The median latency is kept, of an even number the lower of the two in the middle: a measured one that a
/// single outlier cannot move. Of equal ones the first is kept.
pub(crate) fn repeats(readings: &[Reading]) -> Vec<Repeats> {
    let mut order: Vec<(&Reading, usize)> = readings.iter().zip(0..).collect();
    order.sort_by(|(a, i), (b, j)| {
        let kernels = a.kernel.cmp(&b.kernel);
        kernels.then(a.latency_us.total_cmp(&b.latency_us)).then(i.cmp(j))
    });
    order
        .chunk_by(|(a, _), (b, _)| a.kernel == b.kernel)
        .filter(|group| group.len() > 1)
        .filter_map(|group| {
            let (middle, _) = group.get((group.len() - 1) / 2)?;
            let is_same = |row: &Reading| row.latency_us.to_bits() == middle.latency_us.to_bits();
            let (_, kept) = *group.iter().find(|(row, _)| is_same(row))?;
            let others = group.iter().filter(|(_, index)| *index != kept);
            let dropped =
                others.map(
                    |(row, index)| {
                        if is_same(row) { (*index, Reason::RepeatedSame) } else { (*index, Reason::RepeatedOther) }
                    },
                );
            let (shortest, longest) = (group.first()?.0.latency_us, group.last()?.0.latency_us);
            Some(Repeats { kept, dropped: dropped.collect(), spread: longest / shortest })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::defects::made_up::{files, gemm};

    fn repeated(latencies: &[f64]) -> Vec<Repeats> {
        let rows: Vec<_> = latencies.iter().map(|us| (gemm(4096, 8), *us)).collect();
        repeats(&files([&rows]))
    }

    #[test]
    fn the_same_latency_again_changes_nothing() {
        let [only] = &repeated(&[9.0, 9.0, 9.0])[..] else { panic!("one kernel") };
        assert_eq!(only.kept, 0);
        assert_eq!(only.dropped, [(1, Reason::RepeatedSame), (2, Reason::RepeatedSame)]);
        assert!((only.spread - 1.0).abs() < 1e-12);
        assert_eq!(repeated(&[9.0]), []);
    }

    #[test]
    fn of_several_latencies_the_middle_one_is_kept() {
        let [three] = &repeated(&[30.0, 9.0, 10.0])[..] else { panic!("one kernel") };
        assert_eq!(three.kept, 2);
        assert_eq!(three.dropped, [(1, Reason::RepeatedOther), (0, Reason::RepeatedOther)]);
        let [two] = &repeated(&[10.0, 9.0])[..] else { panic!("one kernel") };
        assert_eq!(two.kept, 1);
        let [four] = &repeated(&[9.5, 10.0, 9.5, 9.0])[..] else { panic!("one kernel") };
        assert_eq!(four.kept, 0);
        assert!(four.dropped.contains(&(2, Reason::RepeatedSame)));
    }

    #[test]
    fn another_kernel_is_no_repeat() {
        let rows = files([&[(gemm(4096, 8), 9.0)], &[(gemm(4096, 16), 9.0), (gemm(4096, 8), 9.0)]]);
        let found = repeats(&rows);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].kept, found[0].dropped[0].0), (0, 2));
    }
}
