//! Files of one server, read together.

use std::path::Path;

use rooflut_error::{Error, printable};
use rooflut_scenario::Scenario;
use rooflut_traces::Measurement;
use serde_json::Value;

use crate::contents::Contents;
use crate::deployment::Deployment;
use crate::json::contents as refused;
use crate::measured::{Fact, Measured, ReadFile};
use crate::run::Run;
use crate::{merge, notes, read, units};

/// A file to read.
#[derive(Debug, Clone, Copy)]
pub struct File<'f> {
    /// Its path, by which messages and sources name it.
    pub name: &'f str,
    /// Its bytes; gzip and zstd are decompressed.
    pub bytes: &'f [u8],
}

impl Measured {
    /// Reads the files of one server. `given` are keys of a scenario that the files do not tell, or that replace theirs.
    ///
    /// # Errors
    /// A file that is of no known kind, cut off or not as its kind is, and files of several servers.
    pub fn read(files: &[File<'_>], given: &Scenario) -> Result<Measured, Error> {
        let mut measured = Measured::default();
        let mut scrapes = Vec::new();
        let mut read = Vec::new();
        for file in files {
            let (kind, found) = read::read(file.bytes).map_err(|error| error.in_file(Path::new(file.name)))?;
            read.push((file.name, kind, found));
        }
        merge::check_models(&read)?;
        let mut deployment = Deployment::default();
        for (name, kind, found) in read {
            let Contents { version, runs, models, facts, arguments, scrape, steps, notes: remarks } = found;
            let model = models.into_iter().next().map(|model| (model, name.to_owned()));
            deployment.model = deployment.model.take().or(model);
            measured.notes.extend(remarks.into_iter().map(|note| format!("{name}: {note}")));
            if kind == Measurement::VllmLog {
                deployment.version(name, version.as_deref())?;
            }
            deployment.arguments.extend(arguments.into_iter().map(|words| (words, name.to_owned())));
            for (key, value) in facts {
                measured.add_fact(name, key, value)?;
            }
            measured.runs.extend(runs.into_iter().map(|run| of_file(run, name)));
            scrapes.extend(scrape.map(|scrape| (name, scrape)));
            measured.steps.extend(steps);
            measured.files.push(ReadFile { file: name.to_owned(), kind: kind.title().to_owned(), version });
        }
        let runs = std::mem::take(&mut measured.runs);
        measured.runs = merge::joined(runs, &mut measured.notes);
        merge::check_urls(&measured.runs)?;
        units::check(&measured.runs)?;
        (measured.metric_files, measured.metrics) = merge::metrics(scrapes)?;
        let figures = [measured.runs.len(), measured.metrics.len(), measured.steps.len(), measured.facts.len()];
        if figures == [0; 4] && deployment.is_empty() {
            let text = "expected figures or facts of a server, found none; add the result of a benchmark";
            return Err(refused(text).in_file(Path::new(files.first().map_or("-", |file| file.name))));
        }
        deployment.settle(&mut measured, given)?;
        notes::add(&mut measured);
        measured.escape_notes();
        Ok(measured)
    }

    /// Adds what was measured of the same server at another time.
    ///
    /// # Errors
    /// Another server: a key of its deployment, or a fact, has another value.
    pub fn join(&mut self, other: Measured, name: &str) -> Result<(), Error> {
        if *self == Measured::default() {
            *self = other;
            return Ok(());
        }
        for (key, Fact { value, .. }) in &other.deployment {
            if let Some(known) = self.deployment.get(key).filter(|known| known.value != *value) {
                return Err(refused(format!(
                    "{key}: {} has {}, {name} has {value}, so these are two servers; give the files of one",
                    known.source, known.value
                )));
            }
        }
        let Measured { files, deployment, runs, facts, metrics, metric_files, steps, notes, missing } = other;
        self.missing.retain(|key| missing.contains(key));
        self.files.extend(files);
        self.deployment.extend(deployment);
        self.runs.extend(runs);
        self.steps.extend(steps);
        self.notes.extend(notes);
        match (self.metrics.is_empty(), metrics.is_empty()) {
            (true, _) => (self.metrics, self.metric_files) = (metrics, metric_files),
            (false, false) => self.notes.push(format!(
                "the metrics of {name} are left out: the load has those of {}",
                self.metric_files.join(", ")
            )),
            (false, true) => (),
        }
        self.escape_notes();
        for (key, fact) in facts {
            self.add_fact(name, &key, fact.value)?;
        }
        Ok(())
    }

    /// Escapes what does something to a terminal in names that remarks quote.
    pub(crate) fn escape_notes(&mut self) {
        for note in &mut self.notes {
            *note = printable(std::mem::take(note));
        }
    }

    /// Notes a fact; one that another file contradicts is of another server.
    fn add_fact(&mut self, file: &str, key: &str, value: Value) -> Result<(), Error> {
        match self.facts.get(key) {
            Some(known) if known.value != value => Err(refused(format!(
                "{key}: {} has {}, {file} has {value}, so these are two servers; give the files of one",
                known.source, known.value
            ))),
            Some(_) => Ok(()),
            None => {
                self.facts.insert(key.to_owned(), Fact { value, source: file.to_owned() });
                Ok(())
            }
        }
    }
}

/// Names the file of a run.
fn of_file(mut run: Run, name: &str) -> Run {
    run.name_sources(name);
    run.trace = run.trace.map(|_| name.to_owned());
    run
}
