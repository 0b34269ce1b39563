//! Sizes, colours and text that all parts of a picture share.

use plotters::prelude::{Color, IntoFont, RGBColor, Text, TextStyle};
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Area, DrawingError};

/// Pixels around everything.
pub(super) const MARGIN: u32 = 16;

/// Text.
pub(super) const INK: RGBColor = RGBColor(0x20, 0x20, 0x20);
/// Frames of holes, lines of a mesh.
pub(super) const FAINT: RGBColor = RGBColor(0xcc, 0xcc, 0xcc);
/// The colour of measurements.
pub(super) const POINT: RGBColor = RGBColor(0x1f, 0x77, 0xb4);
/// The mark of an outlier.
pub(super) const OUTLIER: RGBColor = RGBColor(0xd6, 0x27, 0x28);
/// The mark of a dip.
pub(super) const DIP: RGBColor = RGBColor(0xff, 0x8c, 0x00);

/// The size of text.
#[derive(Clone, Copy)]
pub(super) enum Size {
    Title,
    Heading,
    Text,
    Cell,
}

impl Size {
    /// Returns the size of the font, pixels.
    pub(super) const fn font(self) -> i32 {
        match self {
            Size::Title => 20,
            Size::Heading => 15,
            Size::Text => 13,
            Size::Cell => 11,
        }
    }

    /// Returns the height of a line, pixels.
    const fn line(self) -> u32 {
        match self {
            Size::Title => 28,
            Size::Heading => 26,
            Size::Text | Size::Cell => 18,
        }
    }
}

/// Returns a font for text anchored at a point.
pub(super) fn font(size: Size, side: HPos, color: RGBColor) -> TextStyle<'static> {
    ("sans-serif", size.font()).into_font().color(&color.to_rgba()).pos(Pos::new(side, VPos::Center))
}

/// Writes text around a point.
pub(super) fn write(
    area: &Area<'_>,
    text: &str,
    at: (i32, i32),
    (size, side): (Size, HPos),
) -> Result<(), DrawingError> {
    write_in(INK, area, text, at, (size, side))
}

/// Writes text in a colour.
pub(super) fn write_in(
    color: RGBColor,
    area: &Area<'_>,
    text: &str,
    at: (i32, i32),
    (size, side): (Size, HPos),
) -> Result<(), DrawingError> {
    area.draw(&Text::new(text.to_owned(), at, font(size, side, color)))
}

/// The width of a picture in characters of [`Size::Text`].
const COLUMNS: usize = 165;

/// A line of text.
pub(super) struct Words {
    size: Size,
    text: String,
}

impl Words {
    pub(super) fn new(size: Size, text: impl Into<String>) -> Words {
        let text = text.into();
        Words { size, text }
    }

    /// Wraps a text.
    pub(super) fn folded(size: Size, text: &str) -> Vec<Words> {
        let mut lines = vec![String::new()];
        for word in text.split_whitespace() {
            match lines.last_mut() {
                Some(line) if line.is_empty() => line.push_str(word),
                Some(line) if line.len() + 1 + word.len() <= COLUMNS => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.push(word.to_owned()),
            }
        }
        lines.into_iter().map(|text| Words { size, text }).collect()
    }

    /// Returns the height of lines, pixels.
    pub(super) fn height(lines: &[Words]) -> u32 {
        MARGIN + lines.iter().map(|line| line.size.line()).sum::<u32>()
    }

    pub(super) fn draw(area: &Area<'_>, lines: &[Words]) -> Result<(), DrawingError> {
        let mut top = MARGIN;
        for line in lines {
            let height = line.size.line();
            let middle = (top + height / 2).cast_signed();
            let at = (MARGIN.cast_signed(), middle);
            write(area, &line.text, at, (line.size, HPos::Left))?;
            top += height;
        }
        Ok(())
    }
}
