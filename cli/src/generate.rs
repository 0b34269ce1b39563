//! `rooflut completions` and `rooflut man`: what shells and `man` read.

use clap_complete::Shell;
use clap_mangen::Man;

use crate::args;
use crate::error::Error;
use crate::version::version;

/// Returns the script of a shell that completes commands and flags.
pub(crate) fn completions(shell: Shell) -> Result<String, Error> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "rooflut", &mut script);
    Ok(String::from_utf8(script)?)
}

/// Returns the manual page of the command with this path.
pub(crate) fn man(path: &[String]) -> Result<String, Error> {
    let mut whole = args::command();
    whole.set_bin_name("rooflut");
    whole.build();
    let mut command = &whole;
    for name in path {
        command = command.find_subcommand(name).ok_or_else(|| {
            let commands = command.get_subcommands().map(clap::Command::get_name);
            let commands: Vec<&str> = commands.collect();
            let hint = rooflut_nearest::hint(&rooflut_nearest::nearest(name, commands));
            let of = command.get_bin_name().unwrap_or_default();
            Error::new(format!(
                "unknown command {name:?}{hint}; `{of} --help` lists all"
            ))
        })?;
    }
    let mut page = Vec::new();
    let source = format!("rooflut {}", version());
    let man = Man::new(command.clone()).source(source).manual("rooflut");
    man.render(&mut page)?;
    Ok(String::from_utf8(page)?)
}
