//! The files that `rooflut run` writes beside its answer.

use std::io;
use std::path::{Path, PathBuf};

use rooflut_html::RowSink;
use rooflut_report::{Report, RequestsCsv, Role, StepsCsv, Timeline, Window};
use rooflut_scenario::{Group, Output, Run, model_files};

use crate::args::RunArgs;
use crate::destination::is_stdout;
use crate::error::Error;
use crate::html::{self, HtmlFile};
use crate::output_file::OutputFile;
use crate::outputs::{Existing, Outputs};

/// Writers of files that have something for each step.
type StepFiles = (Option<StepsCsv<OutputFile>>, Option<Timeline<OutputFile>>);

/// An observer that writes the files which are asked for while the simulation runs.
pub(crate) type Files<'f> =
    (Option<&'f mut RequestsCsv<OutputFile>>, (Option<&'f mut StepFiles>, Option<&'f mut RequestsCsv<RowSink>>));

/// The files that are asked for.
pub(crate) struct RunFiles {
    requests: Option<RequestsCsv<OutputFile>>,
    of_steps: StepFiles,
    windows: Option<OutputFile>,
    html: Option<(HtmlFile, RequestsCsv<RowSink>)>,
}

impl RunFiles {
    /// Opens them, so that what cannot be written is rejected before the simulation.
    pub(crate) fn create(run: &Run, args: &RunArgs) -> Result<RunFiles, Error> {
        let mut outputs = Outputs::new(inputs(args), Existing::from(args.force));
        let output = &run.scenario().output;
        if output.json == Some(true) && take_stdout(args) {
            return Err(Error::new("--json writes to standard output, too; name another file for the other output"));
        }
        // A file without lines shows the first line of its kind.
        let mut open = |path: &Option<PathBuf>, empty: io::Result<Vec<u8>>| {
            let empty = empty?;
            let first_line = empty.split_inclusive(|byte| *byte == b'\n').next();
            let open = |path: &PathBuf| outputs.open(path, first_line.unwrap_or_default());
            path.as_ref().map(open).transpose()
        };
        let requests = open(&output.requests_out, RequestsCsv::new(Vec::new()).finish())?;
        let steps = open(&output.steps_out, StepsCsv::new(Vec::new()).finish())?;
        let mut empty = Vec::new();
        let empty = Window::write_csv(&[], &mut empty).map(|()| empty);
        let windows = open(&output.windows_out, empty)?;
        let timeline = open(&output.perfetto, Timeline::new(Vec::new(), &[]).finish())?;
        let html = HtmlFile::open(args.html.html.as_deref(), &mut outputs)?;
        Ok(RunFiles {
            html: html.map(|file| (file, RequestsCsv::new(RowSink::default()))),
            requests: requests.map(RequestsCsv::new),
            of_steps: (steps.map(StepsCsv::new), timeline.map(|file| Timeline::new(file, &server_names(run)))),
            windows,
        })
    }

    /// The observer of the run, which wants steps only where a file has them; `None` without files.
    pub(crate) fn observer(&mut self) -> Option<Files<'_>> {
        let (steps, timeline) = &self.of_steps;
        let wants_steps = steps.is_some() || timeline.is_some();
        let of_steps = wants_steps.then_some(&mut self.of_steps);
        let requests = self.requests.as_mut();
        let shown = self.html.as_mut().map(|(_, requests)| requests);
        (requests.is_some() || wants_steps || shown.is_some()).then_some((requests, (of_steps, shown)))
    }

    /// Moves the files to their destinations after the simulation.
    pub(crate) fn finish(self, output: &Output, report: &Report, command: &str) -> Result<(), Error> {
        let windows = report.windows.as_deref().unwrap_or_default();
        if let Some((file, requests)) = self.html {
            let requests = requests.finish().map_err(Error::writing(Path::new("requests")))?;
            let run = html::input("rooflut run", &report.to_json()?)?;
            file.write(vec![run, requests.into_input("requests")?], command)?;
        }
        let (steps, timeline) = self.of_steps;
        let of_windows = self.windows.map(|mut file| Window::write_csv(windows, &mut file).map(|()| file));
        let files = [
            (&output.requests_out, self.requests.map(RequestsCsv::finish)),
            (&output.steps_out, steps.map(StepsCsv::finish)),
            (&output.perfetto, timeline.map(Timeline::finish)),
            (&output.windows_out, of_windows),
        ];
        let written = files.into_iter().filter_map(|(path, file)| path.as_ref().zip(file));
        written.into_iter().try_for_each(|(path, file)| finish(path, file))
    }
}

fn finish(path: &Path, written: io::Result<OutputFile>) -> Result<(), Error> {
    written.map_err(Error::writing(path))?.finish()
}

/// Names of the servers, in the order of their replicas.
fn server_names(run: &Run) -> Vec<String> {
    let is_one = run.replicas() == 1;
    let named = |group: &Group<'_>| {
        let (title, role) = (group.kind.placement().to_string(), group.role);
        let named = move |replica: u32| match role {
            Role::Prefill => format!("{title}, prefill server {replica}"),
            Role::Decode => format!("{title}, decode server {replica}"),
            _ if is_one => title.clone(),
            _ => format!("{title}, replica {replica}"),
        };
        group.replicas.clone().map(named).collect::<Vec<String>>()
    };
    run.groups().iter().flat_map(named).collect()
}

/// Returns whether one of the files is standard output.
pub(super) fn take_stdout(args: &RunArgs) -> bool {
    let of_scenario = args.scenario.output.paths().map(|(_, path)| path);
    of_scenario.chain(args.html.html.as_deref()).any(is_stdout)
}

/// Returns the files and folders that a run reads, and what is said of a destination that is one of them.
fn inputs(args: &RunArgs) -> Vec<(PathBuf, &'static str)> {
    let of_scenario = args.scenario.inputs().into_iter().flat_map(|(key, path)| {
        let why = match key {
            "model" | "draft_model" => "is a file of a model of this run",
            "trace" => "is the trace itself",
            "prompt" | "output" | "turns" => "is a file of lengths of this run",
            "gpu" | "tables" => "is a file of the tables of this run",
            "engine" => "is the engine file of this run",
            "prices" => "is the file of prices of this run",
            _ => "is a file of the servers of this run",
        };
        let paths = match (key, path.to_str()) {
            ("model" | "draft_model", Some(name)) => model_files(name).map_or_else(Vec::new, Vec::from),
            ("trace", Some("-")) => vec![PathBuf::from("/dev/stdin")],
            _ => vec![path],
        };
        paths.into_iter().map(move |path| (path, why))
    });
    let file = args.file.as_ref().map(|file| (file.path.clone(), "is the scenario itself"));
    file.into_iter().chain(of_scenario).collect()
}
