//! Arguments that are described only where their command runs.

use std::ops::Deref;

use clap::builder::Resettable;
use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::parser;

/// The arguments of a command. They are described when it is the one that runs, or when help lists all: describing those
/// of every command takes longer than most answers.
pub(crate) struct Deferred<T>(pub(crate) Box<T>);

/// Describes the arguments of a command. What the command says of itself stays.
pub(crate) fn described<T: Args>(command: Command) -> Command {
    let (about, long) = (
        command.get_about().cloned(),
        command.get_long_about().cloned(),
    );
    let needs_arguments = command.is_arg_required_else_help_set();
    let command = parser::negative_values(T::augment_args(command));
    command
        .arg_required_else_help(needs_arguments)
        .about(Resettable::from(about))
        .long_about(Resettable::from(long))
}

impl<T: Args> Args for Deferred<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(described::<T>)
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(described::<T>)
    }
}

impl<T: FromArgMatches> FromArgMatches for Deferred<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Deferred<T>, clap::Error> {
        T::from_arg_matches(matches).map(|arguments| Deferred(Box::new(arguments)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl<T> Deref for Deferred<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
