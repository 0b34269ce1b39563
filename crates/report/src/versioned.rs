//! The version of what commands write.

use serde::Serialize;

/// Version of the keys of all JSON reports and of the columns of a sweep.
///
/// It rises when a key or column is removed or renamed, or changes its meaning, unit or type. Keys and columns may be
/// added without, and texts such as notes change freely. It says nothing about predicted numbers.
pub const SCHEMA_VERSION: u32 = 1;

/// A report, preceded by the version of its keys.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Versioned<R> {
    /// Version of the keys.
    schema_version: u32,
    #[serde(flatten)]
    report: R,
}

impl<R: Serialize> Versioned<R> {
    /// Returns a report, an object in JSON, with its version.
    pub fn new(report: R) -> Versioned<R> {
        Versioned { schema_version: SCHEMA_VERSION, report }
    }

    /// Returns indented JSON with a final line break, as commands write it.
    ///
    /// # Errors
    /// A report that is no object.
    pub fn to_json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_version_comes_first() {
        let text = Versioned::new(json!({"a": [1.5]})).to_json().unwrap();
        assert_eq!(text, "{\n  \"schema_version\": 1,\n  \"a\": [\n    1.5\n  ]\n}\n");
        assert!(Versioned::new([1]).to_json().is_err());
    }
}
