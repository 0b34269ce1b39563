//! Arguments of `rooflut lookup`: a command for each operation, with flags for its columns and the arguments of a
//! query, as the library declares them.

use std::path::PathBuf;

use clap::builder::ValueParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, Subcommand};
use rooflut::hardware::{Dtype, OperationKind};
use rooflut::interval::Coverage;
use rooflut::op::Argument;
use rooflut::table::Strictness;
use rooflut_roofline::operation::{Codes, Column, ColumnKind, Usual};

use crate::error::Error;
use crate::table_set::WhichSet;
use crate::value;

/// Arguments of `rooflut lookup`.
#[derive(Args)]
#[command(next_display_order = 100)]
pub(crate) struct LookupArgs {
    #[command(subcommand)]
    pub(crate) question: Question,
    /// Table set (`rooflut tables` lists them) [default: h100].
    #[arg(long, global = true)]
    gpu: Option<String>,
    /// Your own measurements in place of --gpu: a folder like those in bench_data/, or a single file made from such a
    /// folder.
    #[arg(long, global = true, value_name = "PATH")]
    tables: Option<PathBuf>,
    /// Reject an answer of a worse class than this: measured, interpolated, smoothed, transferred, bound; "inside",
    /// alone or after a comma, also rejects an answer outside of the measured ranges.
    #[arg(long, global = true, value_name = "CLASS", default_value_t = Strictness::ANY,
          hide_default_value = true)]
    pub(crate) strict: Strictness,
    /// Share of measurements that the interval is meant to contain.
    #[arg(long, global = true, value_name = "SHARE", default_value_t)]
    pub(crate) interval: Coverage,
    /// Write JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

impl LookupArgs {
    /// The table set that is asked for.
    pub(crate) fn set(&self) -> Result<WhichSet<'_>, Error> {
        let chosen = WhichSet::chosen(self.gpu.as_deref(), self.tables.as_deref())?;
        Ok(chosen.unwrap_or(WhichSet::Named("h100")))
    }
}

/// A kernel and a point of its axes.
pub(crate) struct Question {
    pub(crate) operation: OperationKind,
    /// Heads are those of all ranks.
    columns: Codes,
    /// Ranks that divide the heads, where that is no column.
    tp: u32,
    pub(crate) point: [u64; 2],
}

/// Width of a usage line.
const USAGE_WIDTH: usize = 80;

/// The flag of ranks that divide the heads of operations whose tables have heads of one rank.
const TP: &str = "tp";

impl Question {
    /// Returns the shape that one rank computes, or the flag that contradicts another one.
    pub(crate) fn shape(&self) -> Result<Codes, String> {
        let declared = self.operation.declared();
        (declared.check)(&self.columns).map_err(|wrong| {
            let found = declared.code(&self.columns, wrong.column);
            let (flag, found) = (flag(wrong.column), found.unwrap_or_default());
            format!("--{flag}: expected {}, found {found}", wrong.expected)
        })?;
        let mut shape = self.columns;
        for (column, code) in declared.shape.iter().zip(&mut shape) {
            *code = match column.name {
                // With more ranks than KV heads, each rank has a copy of one.
                "kv_heads" if self.tp.is_multiple_of(*code) => 1,
                "q_heads" | "kv_heads" if code.is_multiple_of(self.tp) => *code / self.tp,
                "q_heads" | "kv_heads" => {
                    let flag = flag(column.name);
                    let tp = self.tp;
                    return Err(format!("--{flag}: expected a multiple of --tp {tp}, found {code}"));
                }
                _ => *code,
            };
        }
        Ok(shape)
    }

    /// Returns the names and values of the coordinates.
    pub(crate) fn coordinates(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let names = arguments(self.operation).map(Argument::name);
        names.zip(self.point)
    }
}

impl Subcommand for Question {
    fn augment_subcommands(command: Command) -> Command {
        let commands = OperationKind::ALL.into_iter().filter(|operation| *operation != OperationKind::DeltaDecode);
        command.subcommands(commands.map(subcommand))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Question::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        operation(name).is_some()
    }
}

impl FromArgMatches for Question {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Question, clap::Error> {
        let found = matches.subcommand().and_then(|(name, matches)| Some((operation(name)?, matches)));
        let (operation, matches) = found.ok_or_else(|| clap::Error::new(ErrorKind::MissingSubcommand))?;
        let operation = match operation {
            OperationKind::DeltaPrefill if !matches.contains_id(Argument::SeqLen.name()) => OperationKind::DeltaDecode,
            operation => operation,
        };
        let code = |name: &str| matches.get_one::<u32>(name).copied();
        let mut columns = Codes::default();
        for (column, own) in operation.declared().shape.iter().zip(&mut columns) {
            let usual = || match column.usual? {
                Usual::SameAs(other) => code(other),
                _ => None,
            };
            *own = code(column.name).or_else(usual).unwrap_or_default();
        }
        let mut point = [1; 2];
        for (argument, own) in arguments(operation).zip(&mut point) {
            let given = matches.get_one::<u64>(argument.name());
            *own = given.copied().unwrap_or_default();
        }
        let tp = if is_divided(operation) { code(TP) } else { None };
        Ok(Question { operation, columns, tp: tp.unwrap_or(1), point })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Question::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Returns the name of the command for an operation. The two of a gated delta net have one command.
fn command_name(operation: OperationKind) -> String {
    match operation {
        OperationKind::DeltaPrefill | OperationKind::DeltaDecode => "delta".to_owned(),
        operation => flag(operation.name()),
    }
}

fn operation(command: &str) -> Option<OperationKind> {
    let mut operations = OperationKind::ALL.into_iter();
    operations.find(|operation| command_name(*operation) == command)
}

/// Returns the arguments of a query about requests of one length.
fn arguments(operation: OperationKind) -> impl Iterator<Item = Argument> {
    let arguments = Argument::of(operation).iter();
    arguments.map(|argument| argument.of_one_length())
}

/// Returns whether tables have heads of one rank, without the ranks.
fn is_divided(operation: OperationKind) -> bool {
    let has = |name| {
        let mut columns = operation.declared().shape.iter();
        columns.any(|column| column.name == name)
    };
    has("q_heads") && !has(TP)
}

fn subcommand(operation: OperationKind) -> Command {
    let columns = operation.declared().shape.iter();
    let tp = OperationKind::Prefill.declared().shape.iter().filter(|column| column.name == TP && is_divided(operation));
    let columns = columns.chain(tp).map(column_flag);
    let (mut about, mut seq_len) = (capitalized(operation.declared().description), None);
    if operation == OperationKind::DeltaPrefill {
        about += ", or of one new token per request";
        seq_len = Some("Tokens of each prompt; without it, each request has one new token");
    }
    let arguments = arguments(operation).map(|argument| match (argument, seq_len) {
        (Argument::SeqLen, Some(help)) => argument_flag(argument).required(false).help(help),
        _ => argument_flag(argument),
    });
    let flags = columns.chain(arguments);
    let (required, optional): (Vec<Arg>, Vec<Arg>) = flags.partition(Arg::is_required_set);
    let name = command_name(operation);
    let usage = usage(&name, &required);
    let command = Command::new(name).about(about).override_usage(usage);
    command.args(required).args(optional)
}

/// Returns the usage, over several lines where it is long: clap does not wrap it.
fn usage(command: &str, required: &[Arg]) -> String {
    let mut usage = format!("rooflut lookup {command} [OPTIONS]");
    let mut width = "Usage: ".len() + usage.len();
    for flag in required {
        let flag = flag.to_string();
        width += 1 + flag.len();
        if width < USAGE_WIDTH {
            usage.push(' ');
        } else {
            const INDENT: &str = "\n           ";
            usage += INDENT;
            width = INDENT.len() - 1 + flag.len();
        }
        usage += &flag;
    }
    usage
}

/// Returns the flag of a column, whose value is a code.
fn column_flag(column: &Column) -> Arg {
    let flag = number_flag(column.name, column.meaning);
    let flag = match column.kind {
        ColumnKind::Dtype => {
            // KV entries, and what is multiplied with them, are of few formats.
            let parse = match column.name {
                "dtype" => rooflut_scenario::dtype,
                _ => rooflut_scenario::kv_dtype,
            };
            let code = move |text: &str| parse(text).map(Dtype::code);
            flag.value_name("DTYPE").value_parser(code)
        }
        ColumnKind::Name(names) => flag.value_parser(move |text: &str| {
            let place = names.iter().position(|name| *name == text).and_then(|place| u32::try_from(place).ok());
            place.ok_or_else(|| format!("expected one of {}", names.join(", ")))
        }),
        _ if column.is_positive() => flag.value_parser(value::positive::<u32>),
        _ => flag.value_parser(rooflut_scenario::whole::<u32>),
    };
    match column.usual {
        Some(Usual::Code(code)) => {
            let name = column.name_of(code);
            flag.default_value(name.map_or_else(|| code.to_string(), str::to_owned))
        }
        Some(Usual::SameAs(other)) => {
            let other = self::flag(other);
            flag.help(format!("{} [default: as --{other}]", column.meaning))
        }
        _ => flag.required(true),
    }
}

/// Returns the flag of an argument of a query.
fn argument_flag(argument: Argument) -> Arg {
    let parser = if argument.max() > u32::MAX.into() {
        ValueParser::new(value::positive::<u64>)
    } else {
        ValueParser::new(|text: &str| value::positive::<u32>(text).map(u64::from))
    };
    let flag = number_flag(argument.name(), argument.meaning()).value_parser(parser);
    match argument {
        Argument::Batch => flag.default_value("1"),
        _ => flag.required(true),
    }
}

/// Returns a flag with its meaning.
fn number_flag(name: &'static str, meaning: &'static str) -> Arg {
    let arg = Arg::new(name).long(flag(name)).num_args(1);
    arg.value_name(name.to_uppercase()).help(meaning)
}

/// Returns a name as part of a command line.
fn flag(name: &str) -> String {
    name.replace('_', "-")
}

fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}
