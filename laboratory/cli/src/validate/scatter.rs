//! The scatter plot: predicted over measured latencies.

use std::collections::BTreeMap;

use plotters::prelude::{
    BLACK, ChartBuilder, Circle, Color, IntoDrawingArea, IntoLogRange, Palette, Palette99, PathElement, SVGBackend,
    SeriesLabelPosition, WHITE,
};
use rooflut_validation::{FileReport, Metric, Setting};

use crate::picture::DrawingError;

/// The first line of a plot, by which it is recognised.
pub(super) const FIRST_LINE: &[u8] = b"<!-- rooflut-lab validate: scatter -->\n";

/// Width and height of both panels, pixels.
const SIZE: (u32, u32) = (1120, 560);
const FONT: (&str, i32) = ("sans-serif", 16);

/// Pairs of measured and predicted milliseconds by GPU.
pub(super) type Points = BTreeMap<String, Vec<(f64, f64)>>;

/// Returns the points of a metric of simulated servers: load stages and closed loops.
pub(super) fn points(reports: &[FileReport], metric: Metric) -> Points {
    let mut points = Points::new();
    let cases = reports.iter().flat_map(|report| &report.cases);
    for case in cases.filter(|case| matches!(case.setting, Setting::Load { .. } | Setting::ClosedLoop { .. })) {
        let of_metric = case.comparisons.iter().filter(|comparison| comparison.metric == metric);
        let of_metric = of_metric.map(|comparison| (comparison.actual, comparison.predicted));
        points.entry(case.gpu.clone()).or_default().extend(of_metric);
    }
    points
}

/// Draws a panel for each metric as SVG. The same points give the same bytes.
///
/// # Errors
/// Errors of the drawing library; drawing into memory should give none.
pub(super) fn draw(panels: [(Metric, Points); 2]) -> Result<String, DrawingError> {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        for (area, (metric, points)) in root.split_evenly((1, 2)).iter().zip(panels) {
            let all = || points.values().flatten().flat_map(|&(measured, predicted)| [measured, predicted]);
            let (low, high) = (all().fold(f64::MAX, f64::min) / 1.2, all().fold(0.0, f64::max) * 1.2);
            let name = metric.name().to_uppercase();
            let mut chart = ChartBuilder::on(area)
                .margin(16)
                .caption(format!("{name}, predicted and measured (ms)"), ("sans-serif", 20))
                .x_label_area_size(44)
                .y_label_area_size(64)
                .build_cartesian_2d((low..high).log_scale(), (low..high).log_scale())?;
            chart
                .configure_mesh()
                .x_desc("measured (ms)")
                .y_desc("predicted (ms)")
                .label_style(FONT)
                .axis_desc_style(FONT)
                .x_labels(4)
                .y_labels(4)
                .max_light_lines(0)
                .x_label_formatter(&|ms| format!("{ms:.0}"))
                .y_label_formatter(&|ms| format!("{ms:.0}"))
                .draw()?;
            for (place, (gpu, points)) in points.iter().enumerate() {
                let color = Palette99::pick(place).to_rgba();
                chart
                    .draw_series(points.iter().map(|&point| Circle::new(point, 3, color.mix(0.5).filled())))?
                    .label(format!("{gpu} ({})", points.len()))
                    .legend(move |(x, y)| Circle::new((x + 8, y), 4, color.filled()));
            }
            chart.draw_series([PathElement::new([(low, low), (high, high)], BLACK.stroke_width(1))])?;
            chart
                .configure_series_labels()
                .position(SeriesLabelPosition::LowerRight)
                .label_font(FONT)
                .background_style(WHITE.mix(0.8))
                .border_style(BLACK.mix(0.3))
                .draw()?;
        }
        root.present()?;
    }
    Ok(text)
}
