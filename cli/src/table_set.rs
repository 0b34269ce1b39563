//! The table set that `--gpu` names.

use rooflut::table::{TableSet, sets};

use crate::error::Error;
use crate::suggest::nearest;

/// The compiled-in set of that name, in any case of letters.
pub(crate) fn find(name: &str) -> Result<&'static TableSet, Error> {
    let found = sets::ALL
        .into_iter()
        .find(|set| set.name.eq_ignore_ascii_case(name));
    found.ok_or_else(|| Error::UnknownSet {
        name: name.to_owned(),
        nearest: nearest(name, names()),
        known: names().collect(),
    })
}

fn names() -> impl Iterator<Item = &'static str> {
    sets::ALL.into_iter().map(|set| set.name)
}
