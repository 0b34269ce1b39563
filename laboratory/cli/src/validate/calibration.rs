//! The calibration plot: the observed share of measurements within intervals over the nominal coverage.

use crate::picture::DrawingError;
use plotters::prelude::{
    BLACK, ChartBuilder, Circle, Color, IntoDrawingArea, Palette, Palette99, PathElement, SVGBackend,
    SeriesLabelPosition, WHITE,
};
use rooflut::engine::StepConstants;
use rooflut_validation::Covered;

use super::tables::covered_title;

/// The first line of a plot, by which it is recognised.
pub(super) const FIRST_LINE: &[u8] = b"<!-- rooflut-lab validate: calibration -->\n";

/// Width and height, pixels.
const SIZE: (u32, u32) = (640, 560);
const FONT: (&str, i32) = ("sans-serif", 16);

/// The GPU with enough load stages to draw.
const GPU: &str = StepConstants::FITTED_GPU;

/// Draws the load stages and the kernels on [`GPU`] as SVG. The same coverages give the same bytes.
///
/// # Errors
/// Errors of the drawing library; drawing into memory should give none.
pub(super) fn draw(covered: &[Covered], nominal: &[f64]) -> Result<String, DrawingError> {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let title = "Measurements within the interval (%)";
        let mut chart = ChartBuilder::on(&root)
            .margin(16)
            .caption(format!("{title}, {GPU}"), ("sans-serif", 20))
            .x_label_area_size(44)
            .y_label_area_size(56)
            .build_cartesian_2d(40.0..100.0, 40.0..100.0)?;
        chart
            .configure_mesh()
            .x_desc("nominal coverage (%)")
            .y_desc("observed share (%)")
            .label_style(FONT)
            .axis_desc_style(FONT)
            .x_label_formatter(&|percent| format!("{percent:.0}"))
            .y_label_formatter(&|percent| format!("{percent:.0}"))
            .draw()?;
        let ideal = [(40.0, 40.0), (100.0, 100.0)];
        chart.draw_series([PathElement::new(ideal, BLACK.stroke_width(1))])?;
        for (place, covered) in covered.iter().filter(|of| is_drawn(of)).enumerate() {
            let color = Palette99::pick(place).to_rgba();
            let nominal = nominal.iter().map(|share| 100.0 * share);
            let points: Vec<(f64, f64)> = nominal.zip(covered.percent.iter().copied()).collect();
            let circles = points.iter().map(|&point| Circle::new(point, 3, color.filled()));
            chart.draw_series(circles)?;
            chart
                .draw_series([PathElement::new(points, color.stroke_width(2))])?
                .label(format!("{} ({})", covered_title(covered), covered.n))
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color.stroke_width(2)));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerRight)
            .label_font(FONT)
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK.mix(0.3))
            .draw()?;
        root.present()?;
    }
    Ok(text)
}

/// Returns whether a coverage is part of the plot.
pub(super) fn is_drawn(covered: &Covered) -> bool {
    covered.gpu == GPU && covered.is_left_out
}
