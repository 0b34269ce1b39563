//! Achieved rates over intensity, below the ceilings of the GPU.

use plotters::prelude::{ChartBuilder, Circle, Color, Cross, IntoLogRange, PathElement};
use plotters::style::text_anchor::HPos;
use rooflut::table::TableSet;
use rooflut_codegen::OperationKind;

use super::style::{FAINT, INK, MARGIN, OUTLIER, POINT, Size, font, write};
use super::{Area, DrawingError};
use rooflut_inspect::Family;
use rooflut_inspect::Outlier;
use rooflut_inspect::Row;

/// Pixels of this part of the picture.
pub(super) const HEIGHT: u32 = 480;

/// Pixels for heading and legend.
const TOP: u32 = 60;

/// The axes, ceilings and texts of a plot.
struct Plane {
    heading: &'static str,
    x: &'static str,
    y: &'static str,
    /// The ceilings: peak rate, and rate per unit of intensity.
    ceilings: [Option<f64>; 2],
    legend: String,
    /// The coordinates of a row.
    point: fn(&Row) -> (f64, f64),
}

pub(super) fn draw(area: &Area<'_>, set: &TableSet, family: &Family, outliers: &[Outlier]) -> Result<(), DrawingError> {
    let plane = Plane::of(set, family);
    let points: Vec<(f64, f64)> = family.rows.iter().map(plane.point).collect();
    let [left, right] = span(points.iter().map(|point| point.0));
    let [flat, slope] = plane.ceilings;
    let ys = points.iter().map(|point| point.1).chain(flat);
    let [bottom, top] = span(ys);
    plane.draw_legend(area, !outliers.is_empty())?;
    let mut chart = ChartBuilder::on(area)
        .margin(MARGIN)
        .margin_top(TOP + MARGIN)
        .margin_right(2 * MARGIN)
        .x_label_area_size(44)
        .y_label_area_size(72)
        .build_cartesian_2d((left..right).log_scale(), (bottom..top).log_scale())?;
    chart
        .configure_mesh()
        .x_desc(plane.x)
        .y_desc(plane.y)
        .bold_line_style(FAINT)
        .light_line_style(FAINT.mix(0.3))
        .label_style(font(Size::Text, HPos::Left, INK))
        .axis_desc_style(font(Size::Text, HPos::Left, INK))
        .x_label_formatter(&|value| power_of_ten(*value))
        .y_label_formatter(&|value| power_of_ten(*value))
        .draw()?;
    let roof = |x: f64| {
        let sloped = slope.map_or(f64::INFINITY, |slope| slope * x);
        sloped.min(flat.unwrap_or(f64::INFINITY))
    };
    let ridge = flat.zip(slope).map(|(flat, slope)| flat / slope);
    let corners = [Some(left), ridge.filter(|x| (left..right).contains(x)), Some(right)]
        .into_iter()
        .flatten()
        .map(|x| (x, roof(x)));
    let roofline = PathElement::new(corners.collect::<Vec<_>>(), INK.stroke_width(2));
    chart.draw_series([roofline])?;
    chart.draw_series(points.iter().map(|&point| Circle::new(point, 3, POINT.mix(0.45).filled())))?;
    let marked = outliers.iter().filter_map(|outlier| points.get(outlier.row));
    chart.draw_series(marked.map(|&point| Cross::new(point, 6, OUTLIER.stroke_width(3))))?;
    Ok(())
}

impl Plane {
    fn of(set: &TableSet, family: &Family) -> Plane {
        let gpu = set.gpu();
        if matches!(
            family.operation,
            OperationKind::AllReduce | OperationKind::AllGather | OperationKind::ReduceScatter
        ) {
            let link = gpu.link_bytes_per_s * 1e-9;
            return Plane {
                heading: "Rate over size, below the link",
                x: "message (bytes)",
                y: "message over latency (GB/s)",
                ceilings: [Some(link), None],
                legend: format!("link {link} GB/s in one direction"),
                point: |row| {
                    let bytes = row.work.link_bytes;
                    (bytes, bytes / row.latency_us * 1e-3)
                },
            };
        }
        let dtype = family.rows.first().map(|row| row.kernel.dtype());
        let peak = dtype.and_then(|dtype| gpu.peak_flops_per_s(dtype));
        let peak_text = match (dtype, peak) {
            (Some(dtype), Some(peak)) => format!("{dtype} peak {} TFLOP/s, ", peak * 1e-12),
            _ => String::new(),
        };
        let bandwidth = gpu.mem_bw_bytes_per_s * 1e-12;
        Plane {
            heading: "Roofline: rate over intensity; what the L2 cache holds may be above the slope",
            x: "FLOPs per compulsory byte",
            y: "TFLOP/s",
            ceilings: [peak.map(|peak| peak * 1e-12), Some(bandwidth)],
            legend: format!("{peak_text}memory {bandwidth} TB/s"),
            point: |row| {
                let flops = row.work.flops;
                (flops / row.work.bytes, flops / row.latency_us * 1e-6)
            },
        }
    }

    fn draw_legend(&self, area: &Area<'_>, has_outliers: bool) -> Result<(), DrawingError> {
        let left = MARGIN.cast_signed();
        let top = MARGIN.cast_signed() + 8;
        write(area, self.heading, (left, top), (Size::Heading, HPos::Left))?;
        let middle = top + 26;
        let text = |x, text: &str| write(area, text, (x, middle), (Size::Text, HPos::Left));
        area.draw(&PathElement::new([(left, middle), (left + 26, middle)], INK.stroke_width(2)))?;
        text(left + 34, &self.legend)?;
        let x = left + 420;
        area.draw(&Circle::new((x, middle), 3, POINT.mix(0.45).filled()))?;
        text(x + 12, "measured row")?;
        if has_outliers {
            let x = x + 140;
            area.draw(&Cross::new((x, middle), 6, OUTLIER.stroke_width(3)))?;
            text(x + 14, "outlier")?;
        }
        Ok(())
    }
}

/// Returns a range from below the lowest positive value to above the highest.
fn span(values: impl Iterator<Item = f64>) -> [f64; 2] {
    let values = values.filter(|value| value.is_finite() && *value > 0.0);
    let ends = values.fold(None, |ends, value| match ends {
        Some((low, high)) => Some((value.min(low), value.max(high))),
        None => Some((value, value)),
    });
    let (low, high) = ends.unwrap_or((1.0, 1.0));
    [low / 2.0, high * 2.0]
}

/// Formats a power of ten.
fn power_of_ten(value: f64) -> String {
    match value {
        large if large >= 99_999.0 => format!("{large:e}"),
        small if small < 0.000_99 => format!("{small:e}"),
        usual => format!("{}", (usual * 1e6).round() / 1e6),
    }
}
