//! Why an import fails.

use crate::missing::MissingAnswer;

/// Why an import fails. Every message is one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// All facts that a table set must name and that neither files nor user gave.
    #[error("the files do not say all that a table set must name; add {}", joined(.0, "; "))]
    MissingAnswers(Vec<MissingAnswer>),
    /// A file is no table, or not one of its layout.
    #[error("{file}{}: {problem}", line.map_or(String::new(), |line| format!(":{line}")))]
    File {
        /// The file.
        file: String,
        /// Its line; `None` if the whole file is wrong.
        line: Option<u64>,
        /// The defect: found, expected, and what to do.
        problem: String,
    },
    /// Rows contradict each other or an answer.
    #[error("{about}: {problem}")]
    Rows {
        /// The operation of the rows, or the flag or the column of the contradiction.
        about: String,
        /// The contradiction: found, expected, and what to do.
        problem: String,
    },
    /// No row is left that a table set can hold, for these reasons.
    #[error("{0}")]
    Nothing(String),
    /// A data sheet cannot be read.
    #[error("{0}")]
    Sheet(rooflut_codegen::Error),
    /// All errors that prevent the import.
    #[error("{}", joined(.0, "; also: "))]
    Several(Vec<Error>),
}

impl Error {
    /// Returns the answers that neither files nor user gave.
    pub fn missing_answers(&mut self) -> &mut [MissingAnswer] {
        match self {
            Error::MissingAnswers(missing) => missing,
            // They come first.
            Error::Several(errors) => errors.first_mut().map_or(&mut [], Error::missing_answers),
            _ => &mut [],
        }
    }

    /// Joins missing answers and other errors, of which there is at least one.
    pub(crate) fn of_all(missing: Vec<MissingAnswer>, mut others: Vec<Error>) -> Error {
        if !missing.is_empty() {
            others.insert(0, Error::MissingAnswers(missing));
        }
        match others.pop() {
            Some(only) if others.is_empty() => only,
            last => Error::Several(others.into_iter().chain(last).collect()),
        }
    }

    pub(crate) fn file(file: &str, problem: impl Into<String>) -> Error {
        Error::File { file: file.to_owned(), line: None, problem: problem.into() }
    }

    pub(crate) fn rows(about: impl Into<String>, problem: impl Into<String>) -> Error {
        Error::Rows { about: about.into(), problem: problem.into() }
    }
}

fn joined(parts: &[impl ToString], separator: &str) -> String {
    let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
    parts.join(separator)
}
