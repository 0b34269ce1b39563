//! Objects of JSON whose keys the user names.

use std::collections::BTreeMap;

use rooflut_error::Error;
use serde_json::value::RawValue;

use crate::column_names::{ColumnNames, Role};
use crate::error::unknown_column;
use crate::fields::Fields;
use crate::format::Format;
use crate::input::Input;
use crate::json::Records;
use crate::rows::{Notes, Row, Rows};

/// The requests of such a file.
pub(crate) struct Keyed {
    records: Records,
    fields: Fields,
    /// Named keys that no request so far has had.
    unseen: Vec<(Role, String)>,
    /// The keys of the first request.
    found: Vec<String>,
}

type Object<'t> = BTreeMap<String, &'t RawValue>;

impl Keyed {
    pub(crate) fn open(input: &Input, columns: &ColumnNames) -> Result<Keyed, Error> {
        let fields = Fields::named(columns, |_| Ok(0))?;
        let unseen = columns.named().map(|(role, name)| (role, name.to_owned())).collect();
        Ok(Keyed { records: Records::open(input)?, fields, unseen, found: Vec::new() })
    }
}

impl Rows for Keyed {
    fn next(&mut self, notes: &mut Notes) -> Result<Option<Row>, Error> {
        let Some(json) = self.records.next()? else {
            return match self.unseen.first() {
                Some((_, name)) if !self.found.is_empty() => {
                    Err(unknown_column("columns", Format::Keys, name, &self.found))
                }
                _ => Ok(None),
            };
        };
        let object: Object<'_> = json.object()?;
        self.unseen.retain(|(_, name)| find(&object, name).is_none());
        if self.found.is_empty() {
            let is_named =
                |key: &str| self.fields.names().any(|name| name.split('.').next() == Some(key) || name == key);
            notes.ignored = object.keys().filter(|key| !is_named(key)).cloned().collect();
            notes.has_priorities = self.fields.has(Role::Priority);
            self.found = object.keys().cloned().collect();
            if let Some((_, name)) = self.unseen.iter().find(|(role, _)| Role::REQUIRED.contains(role)) {
                return Err(unknown_column("columns", Format::Keys, name, &self.found));
            }
        }
        let request = self.fields.request(|field| find(&object, &field.name));
        request.map(|request| Some(request.into())).map_err(|error| json.whole(error))
    }
}

/// Returns the text of the value under a key, or under keys of nested objects with dots between them; `None` for null.
fn find<'t>(object: &Object<'t>, name: &str) -> Option<&'t str> {
    if let Some(value) = object.get(name) {
        let text = value.get();
        let quoted = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        return (text != "null").then_some(quoted.unwrap_or(text));
    }
    let (outer, inner) = name.split_once('.')?;
    let nested: Object<'t> = serde_json::from_str(object.get(outer)?.get()).ok()?;
    find(&nested, inner)
}
