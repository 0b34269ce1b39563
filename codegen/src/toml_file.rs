//! A TOML file whose errors name file and line, on one line.

use serde::de::DeserializeOwned;

use toml::Spanned;

use crate::Error;
use crate::files::Part;

/// A TOML file: its name in messages, and its text.
pub(crate) struct TomlFile<'a> {
    /// The file as messages call it.
    pub(crate) name: &'a str,
    text: &'a str,
    /// Lines before the text in the file.
    lines_before: u64,
}

impl<'a> TomlFile<'a> {
    /// The file called `name` with this text.
    pub(crate) fn new(name: &'a str, text: &'a str) -> TomlFile<'a> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        TomlFile {
            name,
            text,
            lines_before: 0,
        }
    }

    /// A file of a set.
    ///
    /// # Errors
    /// It is no UTF-8.
    pub(crate) fn of(part: &'a Part) -> Result<TomlFile<'a>, Error> {
        Ok(TomlFile {
            lines_before: part.lines_before,
            ..TomlFile::new(&part.name, part.text()?)
        })
    }

    /// Its values, of which `example` has one of each.
    ///
    /// # Errors
    /// [`Error::Toml`] for anything that the type does not want.
    pub(crate) fn parse<T: DeserializeOwned>(&self, example: &str) -> Result<T, Error> {
        toml::from_str(self.text).map_err(|error| {
            let place = error.span().map_or(0, |span| span.start);
            let message = error.message().trim_end().replace('\n', ", ");
            self.error(
                place,
                format!("{message}; {example} shows how it should be"),
            )
        })
    }

    /// The error at a byte of the text.
    pub(crate) fn error(&self, place: usize, message: String) -> Error {
        Error::Toml {
            file: self.name.to_owned(),
            line: self.line(place),
            message,
        }
    }

    /// A positive, finite number at its byte of the text.
    ///
    /// # Errors
    /// [`Error::Toml`] for any other number.
    pub(crate) fn positive(&self, key: &str, value: f64, place: usize) -> Result<f64, Error> {
        if value > 0.0 && value.is_finite() {
            return Ok(value);
        }
        let message = format!("{key}: expected a positive number, found {value}; correct it");
        Err(self.error(place, message))
    }

    /// Text that is not empty, without space around it.
    ///
    /// # Errors
    /// [`Error::Toml`] for empty text.
    pub(crate) fn text<'v>(&self, key: &str, value: &'v Spanned<String>) -> Result<&'v str, Error> {
        let text = value.as_ref().trim();
        if text.is_empty() {
            let message = format!("{key}: expected some text, found none; fill it in");
            return Err(self.error(value.span().start, message));
        }
        Ok(text)
    }

    /// A name that can become the name of a constant.
    ///
    /// # Errors
    /// [`Error::Toml`] for any other name, and for `all`, which stands for all of them.
    pub(crate) fn simple_name(&self, key: &str, name: &str, place: usize) -> Result<(), Error> {
        let simple = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let starts = name.starts_with(|c: char| c.is_ascii_lowercase());
        if starts && name.chars().all(simple) && name != "all" {
            return Ok(());
        }
        let message = format!(
            "{key}: expected lower-case letters, digits and hyphens, starting with a letter (and \
             not \"all\"), found {name:?}; rename it"
        );
        Err(self.error(place, message))
    }

    /// The line of a byte of the text.
    pub(crate) fn line(&self, place: usize) -> u64 {
        let before = self.text.bytes().take(place);
        self.lines_before + before.filter(|byte| *byte == b'\n').count() as u64 + 1
    }
}
