//! Files of something else.

use std::fs::{self, File};
use std::process::Command;

use crate::bounded::{LARGE, Place, check_all};
use crate::{DENSE, READERS};

#[test]
fn a_file_of_something_else_is_refused_by_every_reader() {
    let garbage: [(&str, Vec<u8>); 9] = [
        ("binary", (0..=255).collect()),
        ("zeros", vec![0; 4096]),
        ("UTF-16", vec![0xff, 0xfe, b'a', 0, b'\n', 0]),
        ("words", b"some words\n".to_vec()),
        ("HTML", b"<!DOCTYPE html><html></html>\n".to_vec()),
        ("brackets", vec![b'['; 100_000]),
        ("braces", br#"{"a":"#.repeat(100_000)),
        ("commas", vec![b','; 1 << 20]),
        ("a long line", vec![b'x'; 4 << 20]),
    ];
    let places: Vec<_> =
        (garbage.iter()).flat_map(|garbage| READERS.iter().map(move |reader| (garbage, *reader))).collect();
    check_all(&places, |&((name, bytes), reader)| {
        let place = Place::new();
        // Models end with .json.
        let path = place.file("file.json", bytes);
        let arguments: Vec<String> = words(reader, &path);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let complaint = place.complaint(&arguments)?;
        Some(format!("{name}: {complaint}"))
    });
}

#[test]
fn a_path_without_a_file_is_refused_by_every_reader() {
    let paths = ["no-such", "no-such.json", "empty", "file/under", "\u{202e}√"];
    let cases: Vec<_> = (paths.iter()).flat_map(|path| READERS.iter().map(move |reader| (*path, *reader))).collect();
    check_all(&cases, |&(path, reader)| {
        let place = Place::new();
        place.file("file", b"");
        fs::create_dir(place.path("empty")).expect("a folder");
        let arguments: Vec<String> = words(reader, path);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        place.complaint(&arguments)
    });
}

#[test]
fn a_large_file_and_a_pipe_that_nothing_writes_to_are_refused_by_every_reader() {
    let kinds = ["large", "pipe"];
    let cases: Vec<_> = (kinds.iter()).flat_map(|kind| READERS.iter().map(move |reader| (*kind, *reader))).collect();
    check_all(&cases, |&(kind, reader)| {
        let place = Place::new();
        // Models end with .json.
        let path = place.path("file.json");
        if kind == "large" {
            File::create(&path).and_then(|file| file.set_len(3 << 30)).expect("a sparse file");
        } else {
            assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo starts").success());
        }
        let arguments: Vec<String> = words(reader, path.to_str().expect("UTF-8"));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let complaint = place.complaint(&arguments)?;
        Some(format!("{kind}: {complaint}"))
    });
}

#[test]
fn json_of_many_values_is_refused_before_they_take_memory() {
    let values = ["0,", "[0],", "{\"\":0},", "\"\","];
    let cases: Vec<_> = DENSE.iter().flat_map(|dense| values.map(|value| (*dense, value))).collect();
    check_all(&cases, |&((reader, start, mib), value)| {
        let place = Place::new();
        let text = [start, &value.repeat((mib << 20) / value.len()), "0]}"].concat();
        let path = place.file("file.json", text.as_bytes());
        let arguments: Vec<String> = words(reader, &path);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let complaint = match place.run_within(LARGE, 10, &arguments) {
            Ok(Err(line)) if line.contains("in memory, found more; ") || line.contains("elements, found more; ") => {
                return None;
            }
            ended => format!("{ended:?}, expected a refusal for its memory"),
        };
        Some(format!("{reader} with {mib} MiB of {value}: {complaint}"))
    });
}

fn words(line: &str, path: &str) -> Vec<String> {
    let words = line.split(' ');
    words.map(|word| word.replace("PATH", path)).collect()
}
