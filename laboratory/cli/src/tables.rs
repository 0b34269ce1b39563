//! `rooflut-lab tables`: judges a set and draws it.

use std::path::Path;

use crate::args::{TablesArgs, TablesCommand};
use crate::error::Error;
use crate::output::Answered;
use crate::table_set::{self, WhichSet};
use crate::{check, plot, score};

pub(crate) fn run(args: &TablesArgs) -> Result<Answered, Error> {
    let tables = args.tables.as_deref();
    match &args.command {
        TablesCommand::Score(score) => {
            let which = chosen(score.gpu.as_deref(), tables)?;
            score::run(score, &table_set::find(which)?, args.json).map(Answered::from)
        }
        TablesCommand::Check(check) => check::run(check, tables, args.json),
        TablesCommand::Plot(plot) => plot::run(plot, tables, args.json).map(Answered::from),
    }
}

/// Returns the one set that the flags name.
fn chosen<'a>(gpu: Option<&'a str>, tables: Option<&'a Path>) -> Result<WhichSet<'a>, Error> {
    WhichSet::chosen(gpu, tables)?.ok_or_else(|| {
        let neither = "expected --gpu NAME or --tables PATH, found neither; see --help";
        Error::new(neither)
    })
}
