//! Arguments that are described only where their command runs.

use std::ops::Deref;

use clap::builder::Resettable;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use rooflut_scenario::ALIASES;

/// The arguments of a command. They are described when it is the one that runs, or when help lists all: describing those
/// of every command takes longer than most answers.
pub(crate) struct Deferred<T>(pub(crate) Box<T>);

/// Flags of scenarios that `-h` lists, one page; `--help` lists all. The flags of a command itself are on both.
const ON_THE_PAGE: [&str; 26] = [
    "scenario",
    "vllm",
    "model",
    "gpu",
    "tp",
    "dtype",
    "engine",
    "rate",
    "users",
    "prompt",
    "output",
    "trace",
    "replicas",
    "max_num_seqs",
    "goodput",
    "require",
    "attainment",
    "json",
    "out",
    "run",
    "scenario_out",
    "files",
    "html",
    "requests_out",
    "help",
    "color",
];
/// Flags that `-h` of commands without a load leaves out, too.
const SELDOM: [&str; 5] = ["assume_llama", "gpus_per_node", "network_bandwidth", "network_latency", "sampler"];
/// Headings of the flags of a command itself.
const OF_COMMANDS: [&str; 3] = ["Plan", "Search", "Sweep"];

/// Describes the arguments of a command. What the command says of itself stays.
pub(crate) fn described<T: Args>(command: Command) -> Command {
    let (about, long) = (command.get_about().cloned(), command.get_long_about().cloned());
    let needs_arguments = command.is_arg_required_else_help_set();
    let command = T::augment_args(command);
    let has_load = command.get_arguments().any(|arg| arg.get_id() == "rate");
    let command = command.mut_args(|arg| {
        let is_own = arg.get_help_heading().is_some_and(|of| OF_COMMANDS.contains(&of));
        let id = arg.get_id().as_str();
        let is_listed = is_own || ON_THE_PAGE.contains(&id) || !has_load && !SELDOM.contains(&id);
        let aliases = ALIASES.iter().filter(|(_, key)| arg.get_id() == *key);
        let aliases: Vec<&str> = aliases.map(|(alias, _)| *alias).collect();
        arg.visible_aliases(aliases).hide_short_help(!is_listed)
    });
    command.arg_required_else_help(needs_arguments).about(Resettable::from(about)).long_about(Resettable::from(long))
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
