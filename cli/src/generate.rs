//! Commands `completions` and `man`: what shells and `man` read.

use clap_complete::Shell;
use clap_mangen::Man;

use crate::error::Error;
use crate::version::version;

/// Returns the script of a shell that completes the commands and flags of a program.
///
/// # Errors
/// None: the script is UTF-8.
pub fn completions(shell: Shell, mut program: clap::Command) -> Result<String, Error> {
    let mut script = Vec::new();
    let name = program.get_name().to_owned();
    clap_complete::generate(shell, &mut program, name, &mut script);
    Ok(String::from_utf8(script)?)
}

/// Returns the manual page of the command of a program with this path.
///
/// # Errors
/// The program has no such command.
pub fn man(path: &[String], mut program: clap::Command) -> Result<String, Error> {
    let name = program.get_name().to_owned();
    program.set_bin_name(&name);
    program.build();
    let mut command = &program;
    for part in path {
        command = command.find_subcommand(part).ok_or_else(|| {
            let commands = command.get_subcommands().map(clap::Command::get_name);
            let commands: Vec<&str> = commands.collect();
            let hint = rooflut_error::hint(&rooflut_error::nearest(part, commands));
            let of = command.get_bin_name().unwrap_or_default();
            Error::new(format!("unknown command {part:?}{hint}; `{of} --help` lists all"))
        })?;
    }
    let mut page = Vec::new();
    let source = format!("{name} {}", version());
    let man = Man::new(command.clone()).source(source).manual(name);
    man.render(&mut page)?;
    Ok(String::from_utf8(page)?)
}
