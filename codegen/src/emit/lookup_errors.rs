//! `errors.csv`: errors of lookups on left-out rows.

use std::path::Path;

use rooflut_roofline::{Dtype, OperationKind};

use crate::read::{Error, ErrorGroup, Errors, read_lookup_errors};

/// Returns the Rust source of a module with the groups of the file at `path`, in its order. Groups of one set,
/// operation and format are kept if they are `wanted`.
///
/// # Errors
/// The file cannot be read, or a row of it is malformed.
pub fn generate_lookup_errors(
    path: &Path,
    wanted: impl Fn(&str, OperationKind, Dtype) -> bool,
) -> Result<String, Error> {
    let mut groups = read_lookup_errors(path)?;
    groups.retain(|group| match (group.operation, group.dtype) {
        (Some(operation), Some(dtype)) => wanted(&group.set, operation, dtype),
        _ => true,
    });
    let count = groups.len();
    let groups: String = groups.iter().map(group).collect();
    Ok(format!(
        "pub(crate) mod errors {{
    use crate::hardware::OperationKind;
    use crate::table::{{Errors, GroupErrors}};
    pub(crate) static GROUPS: [GroupErrors; {count}] = [{groups}
    ];
}}
"
    ))
}

fn group(group: &ErrorGroup) -> String {
    let ErrorGroup { set, operation, dtype, shape, errors } = group;
    let operation_name = operation.map_or("any", |operation| operation.name());
    let dtype_name = dtype.map_or("any", |dtype| dtype.name());
    let name = format!("{set} {operation_name} {dtype_name} {shape}");
    let operation = operation.map_or("None".to_owned(), |it| format!("Some(OperationKind::{it:?})"));
    let dtype = dtype.map_or("None".to_owned(), |it| format!("Some(crate::hardware::Dtype::{it:?})"));
    let transferred = shape == "transferred";
    let errors = errors
        .each_ref()
        .map(|Errors { set, quantiles }| format!("Errors {{ set: {set:?}, quantiles: {quantiles:?} }}"))
        .join(", ");
    format!(
        "
        GroupErrors {{ name: {name:?}, set: {set:?}, operation: {operation}, dtype: {dtype}, transferred: {transferred}, errors: [{errors}] }},"
    )
}
