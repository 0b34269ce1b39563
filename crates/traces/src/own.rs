//! CSV with the fields of a request: the project's own, and one whose columns the user names.

use rooflut_error::Error;

use crate::cell::Clock;
use crate::column_names::{ColumnNames, Role};
use crate::fields::Fields;
use crate::format::Format;
use crate::table::Header;
use crate::unit::Unit;

/// Finds the columns of the project's own CSV.
pub(crate) fn own_fields(header: &Header<'_>) -> Result<Fields, Error> {
    let mut fields = Fields::new(Some(Clock::Numbers(Unit::Milliseconds)));
    let has_prefixes =
        [Role::Prefix, Role::PrefixTokens].into_iter().any(|role| header.position(role.own_column()).is_some());
    for role in Role::ALL {
        let name = role.own_column();
        let is_prefix = matches!(role, Role::Prefix | Role::PrefixTokens);
        let index = if Role::REQUIRED.contains(&role) || (is_prefix && has_prefixes) {
            Some(header.required(Format::Own, name)?)
        } else {
            header.position(name)
        };
        if let Some(index) = index {
            fields.add(role, name, index);
        }
    }
    Ok(fields)
}

/// Finds the columns that the user names.
pub(crate) fn named_fields(columns: &ColumnNames, header: &Header<'_>) -> Result<Fields, Error> {
    header.check_separators(Format::Columns)?;
    Fields::named(columns, |name| header.of_setting("columns", name))
}
