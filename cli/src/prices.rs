//! Prices of GPUs.

use std::path::Path;

use rooflut::table::TableSet;
use rooflut_scenario::Prices;

use crate::error::Error;
use crate::input;

/// Returns the default prices, with those of a file in their place. It may price the GPUs of `sets` beside known ones.
pub(crate) fn find(path: Option<&Path>, sets: &[TableSet]) -> Result<Prices, Error> {
    let prices = Prices::try_built_in()?;
    let Some(path) = path else {
        return Ok(prices);
    };
    let bytes = input::read(path).map_err(Error::reading(path))?;
    let own: Vec<&str> = sets.iter().map(|set| set.gpu().name.as_str()).collect();
    let given = Prices::read(&bytes, &own).map_err(|error| error.in_file(path))?;
    Ok(prices.replaced_by(given))
}
