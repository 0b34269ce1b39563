//! `--job KEY=VALUE`: settings of the jobs of a cluster.

use crate::error::Error;

/// Settings that are not taken yet.
pub(super) struct Settings(Vec<(String, String)>);

impl Settings {
    pub(super) fn try_new(settings: &[(String, String)]) -> Result<Settings, Error> {
        let mut others = settings.iter();
        while let Some((key, _)) = others.next() {
            if others.clone().any(|(other, _)| other == key) {
                return Err(Error::new(format!("--job {key}: expected once, found twice; remove one")));
            }
        }
        Ok(Settings(settings.to_vec()))
    }

    /// Takes a setting.
    pub(super) fn take(&mut self, key: &str) -> Option<String> {
        let place = self.0.iter().position(|(found, _)| found == key)?;
        Some(self.0.remove(place).1)
    }

    /// Takes the number of jobs that run at once, or `all`.
    pub(super) fn take_parallel(&mut self, all: u64) -> Result<u64, Error> {
        match self.take("parallel").map(|text| (text.parse(), text)) {
            None => Ok(all),
            Some((Ok(parallel @ 1..), _)) => Ok(all.min(parallel)),
            Some((_, text)) => {
                Err(Error::new(format!("--job parallel: expected a whole number from 1, found {text:?}; correct it")))
            }
        }
    }

    /// The settings that are left, in their order.
    pub(super) fn rest(self) -> Vec<(String, String)> {
        self.0
    }
}
