//! Families made up of one bad row and many good ones.

use rooflut::hardware::{AttentionShape, Dtype, GemmShape};
use rooflut_codegen::{MeasuredKernel, OperationKind};
use rooflut_inspect::{Family, Row, Shape, dips, outliers};
use rooflut_roofline::Work;

const M: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// A row whose latency is near `slowdown` times a reference time that grows with `work`.
fn row(kernel: MeasuredKernel, slowdown: f64, work: f64, ripple: u32) -> Row {
    let reference_us = 10.0 + work;
    Row {
        kernel,
        location: None,
        latency_us: reference_us * slowdown * (1.0 + 0.01 * f64::from(ripple % 5)),
        shape: Shape::of(&kernel),
        point: kernel.point(),
        reference_us,
        work: Work::default(),
    }
}

/// GEMMs of some shapes, whose slowdowns vary a little and whose work grows with m.
fn gemms(shapes: u32) -> Family {
    let rows = (1..=shapes).flat_map(|shape| {
        (0..).zip(M).map(move |(place, m)| {
            let gemm = GemmShape { dtype: Dtype::Bf16, k: 512 * shape, n: 1024 };
            let kernel = MeasuredKernel::new(OperationKind::Gemm, gemm, [m, 1]);
            row(kernel, 1.3, f64::from(m), shape * 7 + place * 3)
        })
    });
    Family { operation: OperationKind::Gemm, name: "gemm bf16".to_owned(), rows: rows.collect() }
}

/// Decode attention of one shape on a grid.
fn decodes() -> Family {
    let shape =
        AttentionShape { dtype: Dtype::Bf16, kv_dtype: Dtype::Bf16, q_heads: 32, kv_heads: 8, head_dim: 128, tp: 1 };
    let rows = M.iter().flat_map(|&batch| {
        M.iter().map(move |&length| {
            let kernel = MeasuredKernel::new(OperationKind::Decode, shape, [batch, 128 * length]);
            let work = f64::from(batch) * f64::from(length) / 4.0;
            row(kernel, 1.2, work, batch + 3 * length)
        })
    });
    Family { operation: OperationKind::Decode, name: "decode bf16".to_owned(), rows: rows.collect() }
}

fn found(family: &Family) -> Vec<usize> {
    outliers(family).iter().map(|outlier| outlier.row).collect()
}

#[test]
fn good_rows_are_no_outliers() {
    for shapes in [1, 2, 9] {
        assert_eq!(found(&gemms(shapes)), [0; 0]);
    }
    assert_eq!(found(&decodes()), [0; 0]);
}

#[test]
fn a_slow_row_is_the_only_outlier_wherever_it_is() {
    for shapes in [1, 2, 9] {
        for place in 0..M.len() {
            for factor in [1.6, 3.0, 50.0] {
                let mut family = gemms(shapes);
                family.rows[place].latency_us *= factor;
                assert_eq!(found(&family), [place], "{factor} in {shapes} shapes");
                let ratio = outliers(&family)[0].ratio;
                assert!((ratio / factor - 1.0).abs() < 0.1, "{ratio}, not {factor}");
            }
        }
    }
}

#[test]
fn a_slow_cell_of_a_grid_is_the_only_outlier_wherever_it_is() {
    for place in 0..M.len() * M.len() {
        let mut family = decodes();
        family.rows[place].latency_us *= 1.6;
        assert_eq!(found(&family), [place]);
    }
}

#[test]
fn a_fast_row_between_others_is_the_only_outlier() {
    for place in 1..M.len() - 1 {
        let mut family = gemms(3);
        family.rows[place].latency_us *= 0.5;
        assert_eq!(found(&family), [place]);
    }
}

#[test]
fn two_bad_rows_are_both_found() {
    let mut family = gemms(4);
    for (place, factor) in [(3, 2.0), (5, 0.4), (12, 1.7)] {
        family.rows[place].latency_us *= factor;
    }
    assert_eq!(found(&family), [3, 5, 12]);
}

#[test]
fn a_step_that_all_rows_behind_take_is_no_outlier() {
    let mut family = gemms(6);
    for row in &mut family.rows {
        if row.point[0] >= 16 {
            row.latency_us *= 2.0;
        }
    }
    assert_eq!(found(&family), [0; 0]);
    // Nor where one shape takes it elsewhere.
    let mut family = gemms(6);
    for row in family.rows.iter_mut().take(M.len()).skip(3) {
        row.latency_us *= 2.0;
    }
    assert_eq!(found(&family), [0; 0]);
}

#[test]
fn what_all_shapes_do_at_a_size_is_the_kernel() {
    let mut family = gemms(9);
    for row in &mut family.rows {
        if row.point[0] == 32 {
            row.latency_us *= 1.5;
        }
    }
    assert_eq!(found(&family), [0; 0]);
    // A row that is worse still stands out.
    family.rows[5].latency_us *= 1.6;
    assert_eq!(found(&family), [5]);
}

#[test]
fn less_time_for_more_work_is_a_dip_once() {
    let mut family = gemms(9);
    assert_eq!(dips(&family, &[], 0.10), []);
    // Both are off by less than an outlier.
    family.rows[0].latency_us *= 1.06;
    family.rows[1].latency_us = family.rows[0].latency_us * 0.88;
    let outliers = outliers(&family);
    assert_eq!(outliers, []);
    let [found] = &dips(&family, &outliers, 0.10)[..] else {
        panic!("not one");
    };
    assert_eq!((found.axis, found.from, found.to, found.lines), ("m", 1, 2, 9));
    assert!(!found.is_common());
    let [dip] = found.dips[..] else { panic!("not one") };
    assert_eq!((dip.from, dip.to), (0, 1));
    assert!((dip.falls - 0.12).abs() < 1e-9);
}

#[test]
fn dips_of_most_shapes_are_common() {
    let mut family = gemms(9);
    for row in &mut family.rows {
        if row.point[0] == 1 {
            row.latency_us *= 1.5;
        }
    }
    let found = dips(&family, &outliers(&family), 0.10);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].from, found[0].to, found[0].dips.len()), (1, 2, 9));
    assert!(found[0].is_common());
    // A row reported as an outlier is not reported as a dip.
    let mut family = gemms(9);
    family.rows[4].latency_us *= 3.0;
    assert_eq!(dips(&family, &outliers(&family), 0.10), []);
}
