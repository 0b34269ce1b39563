//! The source of a set.

use rooflut_roofline::Text;

/// The source of a set, its measurement method and its licence.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Origin {
    /// Engine stack and kernels.
    pub engine: Text,
    /// Method of timing a kernel.
    pub timing: Text,
    /// The place of publication.
    pub source: Text,
    /// Licence of the figures.
    pub license: Text,
    /// Date of the measurement, or of copying the figures, ISO 8601.
    pub date: Text,
}

impl Origin {
    /// Creates an origin from the texts in the order of the fields.
    #[doc(hidden)]
    pub const fn from_generated([engine, timing, source, license, date]: [&'static str; 5]) -> Origin {
        Origin {
            engine: Text::from_static(engine),
            timing: Text::from_static(timing),
            source: Text::from_static(source),
            license: Text::from_static(license),
            date: Text::from_static(date),
        }
    }
}
