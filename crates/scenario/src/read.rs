//! From TOML to entries.

use rooflut_nearest::nearest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::entry::Entry;
use crate::error::{Problem, ScenarioError};
use crate::key::{KEYS, Key, Kind, Section};
use crate::value::{described, shortened, values};

/// The entries of a scenario, in the order of the file; switches that are off are left out.
///
/// # Errors
///
/// [`ScenarioError`] with its line for anything that is not a key, a table or a value of the kind that
/// its key has.
pub fn read(bytes: &[u8]) -> Result<Vec<Entry>, ScenarioError> {
    let text = str::from_utf8(bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        Problem::NotText.on_line(line(before))
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let table = DeTable::parse(text).map_err(|error| {
        let place = error.span().map_or(0, |span| span.start);
        let message = shown(error.message());
        Problem::Toml(message).on_line(line_of(text, place))
    })?;
    let mut reader = Reader {
        text,
        entries: Vec::new(),
    };
    reader.top(table.get_ref())?;
    reader.entries.sort_by_key(|entry| entry.line);
    Ok(reader.entries)
}

struct Reader<'t> {
    text: &'t str,
    entries: Vec<Entry>,
}

impl Reader<'_> {
    /// Keys and tables of the file, in its order, so that the first mistake is told.
    fn top(&mut self, table: &DeTable<'_>) -> Result<(), ScenarioError> {
        for (name, value) in in_order(table) {
            let section = Section::NAMED
                .into_iter()
                .find(|section| section.name() == name.get_ref().as_ref());
            match (section, value.get_ref()) {
                (Some(section), DeValue::Table(table)) => self.section(section, table)?,
                (Some(section), other) => {
                    let found = described(other);
                    return Err(self.error(Problem::NotATable { section, found }, name));
                }
                (None, _) => self.key(Section::Top, name, value)?,
            }
        }
        Ok(())
    }

    fn section(&mut self, section: Section, table: &DeTable<'_>) -> Result<(), ScenarioError> {
        for (name, value) in in_order(table) {
            self.key(section, name, value)?;
        }
        Ok(())
    }

    fn key(
        &mut self,
        section: Section,
        name: &Name<'_>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(), ScenarioError> {
        let value = value.get_ref();
        let key =
            find(section, name.get_ref(), value).map_err(|problem| self.error(problem, name))?;
        if let Some(first) = self.entries.iter().find(|entry| entry.key == key) {
            let (key, first) = (key.name, first.line);
            return Err(self.error(Problem::Twice { key, first }, name));
        }
        let Some(values) = values(key.kind, value) else {
            let problem = Problem::Value {
                key: key.name,
                expected: key.kind,
                found: described(value),
            };
            return Err(self.error(problem, name));
        };
        let is_off = key.kind == Kind::Switch && matches!(value, DeValue::Boolean(false));
        if !is_off {
            let line = self.line(name);
            self.entries.push(Entry { key, line, values });
        }
        Ok(())
    }

    fn error(&self, problem: Problem, name: &Name<'_>) -> ScenarioError {
        problem.on_line(self.line(name))
    }

    fn line(&self, name: &Name<'_>) -> u64 {
        line_of(self.text, name.span().start)
    }
}

type Name<'i> = Spanned<toml::de::DeString<'i>>;

/// What a table has, in the order of the file.
fn in_order<'t, 'i>(table: &'t DeTable<'i>) -> Vec<(&'t Name<'i>, &'t Spanned<DeValue<'i>>)> {
    let mut items: Vec<_> = table.iter().collect();
    items.sort_by_key(|(name, _)| name.span().start);
    items
}

/// The key of this name in this section; `value` tells keys from tables.
fn find(section: Section, found: &str, value: &DeValue<'_>) -> Result<&'static Key, Problem> {
    let name = found.replace('-', "_");
    match KEYS.iter().find(|key| key.name == name) {
        Some(key) if key.section == section => Ok(key),
        Some(key) => Err(Problem::Elsewhere {
            key: key.name,
            section: key.section,
        }),
        None if matches!(value, DeValue::Table(_)) && section == Section::Top => {
            Err(Problem::UnknownTable {
                found: shortened(found),
                nearest: nearest(found, Section::NAMED.map(Section::name)),
            })
        }
        None => Err(Problem::UnknownKey {
            found: shortened(found),
            section,
            nearest: nearest(found, KEYS.iter().map(|key| key.name)),
        }),
    }
}

/// A message on one line.
fn shown(message: &str) -> String {
    let lines: Vec<&str> = message.lines().map(str::trim).collect();
    let message = lines.join(", ");
    message.replace(char::is_control, " ")
}

fn line_of(text: &str, place: usize) -> u64 {
    line(text.as_bytes().get(..place).unwrap_or(text.as_bytes()))
}

/// The line that comes after `before`.
fn line(before: &[u8]) -> u64 {
    before.iter().filter(|byte| **byte == b'\n').count() as u64 + 1
}
