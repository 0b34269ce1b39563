//! The flags of `vllm serve`, as data.

use rooflut::engine::EngineStack;

/// `flag,short,form,first,last,setting,values,reason`, one flag on a line. `tools/vllm-schedule/flags.py` compares names,
/// forms and versions with vLLM's sources.
const FILE: &str = include_str!("flags.csv");

/// The first version in which `--disable-x` is the opposite of `--enable-x` (`EnableDisableAction` of
/// `vllm/utils/argparse_utils.py`).
const DISABLES: [u32; 3] = [0, 33, 0];

/// A flag of `vllm serve`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Flag {
    /// Its name, without dashes.
    pub(super) name: &'static str,
    /// Short names with spaces between them, without their dash.
    short: &'static str,
    pub(super) form: Form,
    /// The first version that has it; empty for all.
    pub(super) first: &'static str,
    /// The last version that has it; empty for all.
    pub(super) last: &'static str,
    pub(super) meaning: Meaning,
}

/// The values of a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// None; `--no-x` is the opposite.
    Switch,
    /// None, and no opposite.
    On,
    /// One.
    Value,
    /// One or none.
    Optional,
    /// One or more.
    List,
}

/// The meaning of a flag here.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Meaning {
    /// A key of a scenario, what its values are, and why there are no others.
    Setting { key: &'static str, values: &'static str, reason: &'static str },
    /// Not modelled, for this reason, except with one of these values, which change nothing.
    Refused { neutral: &'static str, reason: &'static str },
    /// No effect on the answer.
    None,
}

impl Flag {
    fn of_line(line: &'static str) -> Option<Flag> {
        let mut cells = line.splitn(8, ',');
        let mut cell = || cells.next();
        let (name, short, form, first, last) = (cell()?, cell()?, cell()?, cell()?, cell()?);
        let (key, values, reason) = (cell()?, cell()?, cell()?);
        let form = match form {
            "switch" => Form::Switch,
            "on" => Form::On,
            "value" => Form::Value,
            "optional" => Form::Optional,
            "list" => Form::List,
            _ => return None,
        };
        let meaning = match key {
            "" => Meaning::None,
            "-" => Meaning::Refused { neutral: values, reason },
            key => Meaning::Setting { key, values, reason },
        };
        Some(Flag { name, short, form, first, last, meaning })
    }

    /// Whether the engine has it.
    fn is_in(&self, stack: &EngineStack) -> bool {
        let Some(asked) = version(stack.name) else {
            return true;
        };
        version(self.first).is_none_or(|first| first <= asked) && version(self.last).is_none_or(|last| last >= asked)
    }

    /// The versions that have it, in words.
    pub(super) fn versions(&self) -> String {
        match (self.first, self.last) {
            (first, "") => format!("vLLM {first} and later"),
            ("", last) => format!("vLLM {last} and earlier"),
            (first, last) => format!("vLLM {first} to {last}"),
        }
    }
}

/// A flag under the name that was given.
#[derive(Debug, Clone, Copy)]
pub(super) struct Named {
    pub(super) flag: Flag,
    /// Whether the name is that of the opposite.
    pub(super) negated: bool,
}

/// All flags of all versions.
pub(super) fn all() -> impl Iterator<Item = Flag> {
    FILE.lines().filter_map(Flag::of_line)
}

/// The flags of an engine.
pub(super) fn of(stack: &EngineStack) -> impl Iterator<Item = Flag> {
    all().filter(|flag| flag.is_in(stack))
}

/// All names of the flags of an engine, with those of opposites.
fn names(stack: &EngineStack) -> Vec<(String, Named)> {
    let has_disable = version(stack.name).is_none_or(|asked| asked >= DISABLES);
    let of_flag = |flag: Flag| {
        let mut names = vec![(flag.name.to_owned(), Named { flag, negated: false })];
        if flag.form == Form::Switch {
            let opposite = Named { flag, negated: true };
            names.push((format!("no-{}", flag.name), opposite));
            let pairs = [("enable-", "disable-"), ("disable-", "enable-")];
            let inverse = pairs
                .into_iter()
                .filter(|_| has_disable)
                .find_map(|(own, other)| flag.name.strip_prefix(own).map(|rest| format!("{other}{rest}")));
            names.extend(inverse.map(|inverse| (inverse, opposite)));
        }
        names
    };
    of(stack).flat_map(of_flag).collect()
}

/// Returns the flags that a name without dashes may mean, as argparse does: the flag of this name, or else those that
/// begin with it.
pub(super) fn named(name: &str, stack: &EngineStack) -> Vec<Named> {
    let names = names(stack);
    let that = |is: &dyn Fn(&str) -> bool| {
        let found = names.iter().filter(|(known, _)| is(known));
        found.map(|(_, named)| *named).collect::<Vec<_>>()
    };
    let exact = that(&|known| known == name);
    if exact.is_empty() { that(&|known| known.starts_with(name)) } else { exact }
}

/// Returns the flag with this short name.
pub(super) fn short(name: &str, stack: &EngineStack) -> Option<Flag> {
    of(stack).find(|flag| flag.short.split(' ').any(|short| short == name))
}

/// Reads the three numbers at the end of `0.25.0` or `vllm-0.25.0`.
fn version(name: &str) -> Option<[u32; 3]> {
    let (_, numbers) = name.rsplit_once('-').unwrap_or(("", name));
    let mut numbers = numbers.split('.').map(|number| number.parse().ok());
    let mut number = || numbers.next().flatten();
    Some([number()?, number()?, number()?])
}

#[cfg(test)]
mod tests {
    use rooflut::engine;

    use super::*;
    use crate::file::table_of;

    #[test]
    fn each_line_of_the_file_is_a_flag() {
        assert_eq!(all().count(), FILE.lines().count() - 1);
        assert!(all().map(|flag| flag.name).is_sorted());
    }

    #[test]
    fn each_setting_is_a_key_of_a_scenario() {
        const OWN: [&str; 3] = ["nodes", "local_ranks", "speculation"];
        for flag in all() {
            if let Meaning::Setting { key, .. } = flag.meaning {
                let (own, _) = key.split_once('.').unwrap_or((key, ""));
                assert!(OWN.contains(&own) || table_of(key).is_some(), "{key}");
            }
        }
    }

    #[test]
    fn flags_are_those_of_their_versions() {
        let has = |name: &str, version: &str| {
            let stack = engine::find(version).unwrap();
            of(stack).any(|flag| flag.name == name)
        };
        assert!(!has("watermark", "vllm-0.22.0") && has("watermark", "vllm-0.24.0"));
        assert!(has("swap-space", "vllm-0.17.0") && !has("swap-space", "vllm-0.18.0"));
    }
}
