//! `messages.txt` has files, with ` / ` for line breaks, and what is said about each. `ROOFLUT_ACCEPT=1 cargo test
//! -p rooflut-codegen messages` writes it again.

#[path = "../../../tests/support/messages.rs"]
mod page;

use std::fs;
use std::path::Path;

use rooflut_codegen::{Error, OperationKind, generate_constants, generate_engines};
use rooflut_codegen::{read_rows, read_set};

use crate::support::engines::ENGINE;
use crate::support::{Fixture, GPUS, SET_TOML, TOY};

const ROW: &str = "bf16,512,512,16,10\n";

#[test]
fn each_file_has_its_message() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/messages.txt");
    page::replay(path, |line| {
        let is_file = |(file, _): &(&str, &str)| !file.contains(' ') || file.contains(" as ");
        let file = line.split_once(':').filter(is_file);
        let message = file.map(|(file, text)| {
            let read = read(file, text.strip_prefix(' ').unwrap_or(text));
            read.map_or_else(|message| message, |()| "accepted".to_owned())
        });
        message.into_iter().collect()
    });
}

/// Reads a file of the page.
fn read(file: &str, text: &str) -> Result<(), String> {
    let mut text = text.replace(" / ", "\n");
    for (escape, character) in [("\\t", "\t"), ("\\r", "\r"), ("\\n", "\n"), ("\\u{feff}", "\u{feff}")] {
        text = text.replace(escape, character);
    }
    let changed = |whole: &str| {
        let (from, to) = text.split_once(" ->").unwrap();
        assert!(whole.contains(from), "{from}");
        whole.replacen(from, to.trim_start_matches(' '), 1)
    };
    let gemm = Fixture::gemm(ROW);
    let own_gpu = GPUS.replace("[toy]", "[gpu]\nname = \"mine\"");
    match file {
        "set.toml" => refusal(&gemm.file(file, changed(SET_TOML))),
        "[gpu]" => {
            let rest = SET_TOML.replace("gpu = \"toy\"\n", "");
            refusal(&gemm.file("set.toml", rest + &changed(&own_gpu)))
        }
        "gpus.toml" => said(read_set(&gemm.dir(), &changed(GPUS))),
        "engine" => alone("toy-1.0.toml", &changed(&ENGINE), |path| generate_engines(&[path])),
        "constants" => alone("toy.toml", &changed(crate::constants::TOY), generate_constants),
        "my.tables" => {
            let (head, _) = SET_TOML.split_once("[prefill]").unwrap();
            let text = text.replace("[set.toml]", head);
            alone(file, &text, |path| read_set(path, GPUS))
        }
        "mine.csv" => alone(file, &text, |path| read_rows(path, None, &TOY)),
        "mine.csv as moe" => alone("mine.csv", &text, |path| read_rows(path, Some(OperationKind::Moe), &TOY)),
        table => refusal(&Fixture::new().file(table, &text)),
    }
}

fn refusal(fixture: &Fixture) -> Result<(), String> {
    said(fixture.read())
}

fn said<T>(read: Result<T, Error>) -> Result<(), String> {
    read.map(|_| ()).map_err(|error| error.to_string())
}

/// Reads a file of its own. Messages name it without its folder.
fn alone<T>(name: &str, text: &str, read: impl FnOnce(&Path) -> Result<T, Error>) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    let folder = format!("{}/", folder.path().display());
    said(read(&path)).map_err(|message| message.replace(&folder, ""))
}
