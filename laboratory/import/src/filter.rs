//! Filters the readings of an operation: leaves out those that do not become rows of a set.

use std::collections::BTreeSet;

use rooflut_codegen::OperationKind;
use rooflut_error::Error;
use rooflut_roofline::Gpu;

use crate::answers::FloorRows;
use crate::defects::{eager_floor, physics, points, repeated, warm_up};
use crate::error::wrong;
use crate::file::File;
use crate::findings::Findings;
use crate::reading::{Cause, LeftOut, Reading, Reason};
use crate::report::counted;
use crate::text::{listed, quoted};

/// The readings of an operation and the lists of those that are left out.
pub(crate) struct RowFilter<'a> {
    pub(crate) operation: OperationKind,
    pub(crate) readings: Vec<Reading>,
    pub(crate) left_out: &'a mut Vec<LeftOut>,
    pub(crate) findings: &'a mut Findings,
}

impl RowFilter<'_> {
    /// Leaves out first rows that timed the warm-up.
    pub(crate) fn warm_ups(&mut self, first_rows: &[u64]) {
        let found = warm_up::warm_ups(&self.readings, first_rows);
        if found.is_empty() {
            return;
        }
        let files: BTreeSet<usize> = self.readings.iter().map(|row| row.file).collect();
        let text = format!(
            "the first row of {} of {} files takes as long as a launch that loads the kernel: left out",
            found.len(),
            files.len()
        );
        self.findings.add(self.operation, "warm-up", text);
        self.leave_out(found.into_iter().map(|index| (index, Reason::WarmUp)));
    }

    /// Leaves out rows that are faster than the GPU can be.
    ///
    /// # Errors
    /// They are so many that the GPU or the format is wrong.
    pub(crate) fn impossible(&mut self, gpu: &Gpu, files: &[File<'_>]) -> Result<(), Error> {
        let beyond = |row: &Reading| physics::beyond(&row.kernel, row.latency_us, gpu);
        let rows = self.readings.iter().enumerate();
        let found: Vec<(usize, Cause)> = rows.filter_map(|(index, row)| Some((index, beyond(row)?))).collect();
        let is_impossible = |(_, cause): &&(usize, Cause)| cause.reason == Reason::Impossible;
        let impossible = found.iter().filter(is_impossible).count();
        if physics::is_doubtful(impossible, self.readings.len()) {
            let first = found.iter().find(is_impossible).and_then(|(index, cause)| {
                let row = self.readings.get(*index)?;
                let table = files.get(row.file)?.table;
                Some(format!("{}:{}: {}", table.path, row.number, cause.detail))
            });
            let fitting = match self.operation {
                OperationKind::AllReduce => Vec::new(),
                _ => physics::fitting(&self.readings, gpu),
            };
            let fitting = if fitting.is_empty() {
                "no format fits".to_owned()
            } else {
                format!("fitting: {}", listed(fitting.iter().map(|dtype| dtype.name())))
            };
            let problem = format!(
                "{impossible} of {} rows are faster than the GPU can be ({}): an answer for all rows is \
                 wrong, not these rows; check --gpu and the format of the numbers ({fitting}){}",
                self.readings.len(),
                first.unwrap_or_default(),
                self.without(files)
            );
            return Err(wrong(self.operation.name(), problem));
        }
        self.leave_out(found.into_iter());
        Ok(())
    }

    /// Returns the flags that import the other tables, if there are any.
    fn without(&self, files: &[File<'_>]) -> String {
        let is_own = |file: &&File<'_>| file.operation == self.operation;
        let own = files.iter().filter(is_own).map(|file| quoted(&file.table.path));
        if files.iter().any(|file| !is_own(&file)) {
            let flags: Vec<String> = own.map(|path| format!("--skip {path}")).collect();
            format!(", or import the others with {}", flags.join(" "))
        } else {
            String::new()
        }
    }

    /// Leaves out repetitions of kernels.
    pub(crate) fn repeated(&mut self) {
        let found = repeated::repeats(&self.readings);
        if found.is_empty() {
            return;
        }
        let dropped = found.iter().flat_map(|repeats| &repeats.dropped);
        let is_same = |(_, reason): &&(usize, Reason)| *reason == Reason::RepeatedSame;
        let same = dropped.clone().filter(is_same).count();
        let other = dropped.clone().count() - same;
        let spread = found.iter().map(|repeats| repeats.spread).fold(1.0, f64::max);
        let mut text = format!(
            "{} in the files several times: {} with the latency that is kept",
            counted(found.len(), "kernel"),
            counted(same, "row")
        );
        if other > 0 {
            text.push_str(&format!(
                ", {other} with another, up to {:.1} % apart: the middle one is kept",
                (spread - 1.0) * 100.0
            ));
        }
        self.findings.add(self.operation, "repeated", text);
        self.leave_out(dropped.copied());
    }

    /// Reports rows that timed an eager launch, and leaves them out if asked to.
    pub(crate) fn floor(&mut self, gpu: &Gpu, rows: FloorRows) {
        let Some(floor) = eager_floor::floor(&self.readings, gpu) else {
            return;
        };
        let done = match rows {
            FloorRows::Keep => "kept; mention it in --timing, or leave them out with --drop-floor",
            FloorRows::Drop => "left out",
        };
        let text = format!(
            "{} of {} rows take {:.1} to {:.1} us whatever their work, as launches from the host do: {done}",
            floor.rows.len(),
            self.readings.len(),
            floor.shortest_us,
            floor.longest_us
        );
        self.findings.add(self.operation, "eager floor", text);
        if rows == FloorRows::Drop {
            let rows = floor.rows.into_iter();
            self.leave_out(rows.map(|index| (index, Reason::EagerFloor)));
        }
    }

    /// Leaves out points of axes that have too many.
    pub(crate) fn points(&mut self) {
        let surplus = points::surplus(&self.readings);
        if surplus.is_empty() {
            return;
        }
        let text = format!(
            "{} of {} rows are left out: a table set holds {} points on an axis (ends and powers of two \
             stay, the others are spread evenly)",
            surplus.len(),
            self.readings.len(),
            points::MAX_POINTS
        );
        self.findings.add(self.operation, "too many points", text);
        self.leave_out(surplus.into_iter().map(|index| (index, Reason::Thinned)));
    }

    /// Leaves out these readings.
    fn leave_out(&mut self, found: impl Iterator<Item = (usize, impl Into<Cause>)>) {
        let mut causes: Vec<Option<Cause>> = vec![None; self.readings.len()];
        for (index, cause) in found {
            if let Some(slot) = causes.get_mut(index) {
                *slot = Some(cause.into());
            }
        }
        let mut causes = causes.into_iter();
        self.readings.retain(|row| match causes.next().flatten() {
            None => true,
            Some(cause) => {
                self.left_out.push(LeftOut { file: row.file, number: row.number, cause });
                false
            }
        });
    }
}
