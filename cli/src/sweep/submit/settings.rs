//! `--job KEY=VALUE`: settings of the jobs of a cluster.

use crate::error::Error;

/// Settings that are not taken yet.
pub(super) struct Settings(Vec<(String, String)>);

impl Settings {
    pub(super) fn try_new(texts: &[String]) -> Result<Settings, Error> {
        let mut settings: Vec<(String, String)> = Vec::new();
        for text in texts {
            let (key, value) = text.split_once('=').unwrap_or((text, ""));
            let is_key = key.starts_with(|c: char| c.is_ascii_lowercase())
                && key.chars().all(|c| c.is_ascii_lowercase() || c == '-');
            if !is_key || value.chars().any(char::is_control) {
                return Err(Error::new(format!(
                    "--job: expected KEY=VALUE, as in memory=4Gi, found {text:?}; correct it"
                )));
            }
            if settings.iter().any(|(other, _)| other == key) {
                return Err(Error::new(format!("--job {key}: expected once, found twice; remove one")));
            }
            settings.push((key.to_owned(), value.to_owned()));
        }
        Ok(Settings(settings))
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
