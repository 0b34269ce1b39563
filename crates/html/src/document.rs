//! A report.

use std::io::{self, Write};

use serde_json::json;

use crate::input::Input;
use crate::text::{embedded, escaped};

/// The front end with places for the data of a report; `web/` builds it.
const TEMPLATE: &str = include_str!("../template.html");

/// The first line of a report, by which it is recognised.
pub const FIRST_LINE: &str = "<!doctype html><!-- rooflut report -->\n";

/// Version of the data that the front end reads.
const FORMAT: u32 = 1;

/// A report of one or more inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    inputs: Vec<Input>,
    command: Option<String>,
}

impl Document {
    /// Creates a report that shows `inputs` in this order.
    pub fn new(inputs: Vec<Input>) -> Document {
        Document { inputs, command: None }
    }

    /// Names the command that wrote the report.
    #[must_use]
    pub fn with_command(self, command: impl Into<String>) -> Document {
        Document { command: Some(command.into()), ..self }
    }

    /// Writes the report as HTML.
    ///
    /// # Errors
    /// A failure of the writer.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let title = self.title();
        let mut rest = TEMPLATE;
        for (place, text) in [("@TITLE@", escaped(&title)), ("@STATIC@", self.facts()), ("@INPUTS@", self.data(&title))]
        {
            let (before, behind) = rest.split_once(place).unwrap_or((rest, ""));
            out.write_all(before.as_bytes())?;
            out.write_all(text.as_bytes())?;
            rest = behind;
        }
        out.write_all(rest.as_bytes())
    }

    fn title(&self) -> String {
        let title = self.inputs.iter().find_map(|input| input.title.clone());
        title
            .unwrap_or_else(|| format!("rooflut {}", self.inputs.first().map_or("report", |input| input.kind().name())))
    }

    /// Returns the figures of all inputs as tables.
    fn facts(&self) -> String {
        self.inputs.iter().map(|input| input.facts.as_str()).collect()
    }

    /// Returns the object that the front end reads.
    fn data(&self, title: &str) -> String {
        let head = embedded(&format!(
            "{{\"format\":{FORMAT},\"title\":{},\"command\":{},\"inputs\":[",
            json!(title),
            json!(self.command)
        ));
        let inputs: Vec<&str> = self.inputs.iter().map(|input| input.object.as_str()).collect();
        head + &inputs.join(",") + "]}"
    }
}
