//! Prices of GPUs.

use rooflut::table::TableSet;
use rooflut_scenario::{Output, Prices};

use crate::args::PriceArgs;
use crate::error::Error;
use crate::input;

/// Returns the default prices, with the given ones in their place. They may be of the GPUs of `sets` beside known ones.
pub(crate) fn find(given: &PriceArgs, sets: &[TableSet]) -> Result<Prices, Error> {
    let own: Vec<&str> = sets.iter().map(|set| set.gpu().name.as_str()).collect();
    let mut output = Output::default();
    given.add_to(&mut output);
    Ok(Prices::try_open(&output, &own, &input::open)?)
}
