//! A generated load, for programs.

use serde::Serialize;

use super::Workload;
use super::lengths::Formula;
use super::range::Range;
use super::sizes::Sizes;
use super::values::ThinkTimeArg;
use crate::args::Arrival;
use crate::run_json::LoadJson;

/// A load whose users do not wait.
#[derive(Serialize)]
pub(crate) struct OpenJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    requests_per_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions_per_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    burstiness: Option<f64>,
    #[serde(flatten)]
    mix: MixJson,
}

/// A load whose users wait.
#[derive(Serialize)]
pub(crate) struct ClosedJson {
    users: u32,
    think_time_s: ThinkTimeJson,
    #[serde(flatten)]
    mix: MixJson,
}

/// What the requests look like.
#[derive(Serialize)]
struct MixJson {
    prompt_tokens: LengthsJson,
    cached_prompt_tokens: u32,
    output_tokens: LengthsJson,
    prefixes: Option<PrefixesJson>,
    sessions: Option<SessionsJson>,
    priority_shares: Option<Vec<f64>>,
}

#[derive(Serialize)]
struct PrefixesJson {
    groups: u32,
    tokens: u32,
}

#[derive(Serialize)]
struct SessionsJson {
    turns: LengthsJson,
    think_time_s: ThinkTimeJson,
}

/// A number where it is always the same.
#[derive(Serialize)]
#[serde(untagged)]
enum ThinkTimeJson {
    Fixed(f64),
    Drawn {
        distribution: &'static str,
        mean: f64,
    },
}

/// A number where it is always the same.
#[derive(Serialize)]
#[serde(untagged)]
enum LengthsJson {
    Fixed(u32),
    Drawn(DrawnJson),
}

#[derive(Serialize)]
#[serde(tag = "distribution", rename_all = "snake_case")]
enum DrawnJson {
    Uniform {
        #[serde(flatten)]
        range: RangeJson,
    },
    Normal {
        mean: f64,
        sd: f64,
        #[serde(flatten)]
        within: RangeJson,
    },
    Lognormal {
        median: f64,
        sigma: f64,
        #[serde(flatten)]
        within: RangeJson,
    },
    File {
        path: String,
        values: usize,
        mean: f64,
        #[serde(flatten)]
        range: RangeJson,
    },
}

#[derive(Serialize)]
struct RangeJson {
    min: Option<u32>,
    max: Option<u32>,
}

impl From<Option<Range>> for RangeJson {
    fn from(range: Option<Range>) -> RangeJson {
        RangeJson {
            min: range.map(|range| range.min),
            max: range.map(|range| range.max),
        }
    }
}

impl Workload<'_> {
    /// What the load is.
    pub(crate) fn json(&self) -> LoadJson {
        if let Some(users) = self.args.users {
            return LoadJson::ClosedLoop(ClosedJson {
                users,
                think_time_s: self.pause().into(),
                mix: self.mix_json(),
            });
        }
        let rate = Some(self.args.rate);
        let sessions = self.turns.is_some();
        let open = OpenJson {
            requests_per_s: rate.filter(|_| !sessions),
            sessions_per_s: rate.filter(|_| sessions),
            burstiness: self.args.burstiness,
            mix: self.mix_json(),
        };
        match self.args.arrival {
            Arrival::Poisson => LoadJson::Poisson(open),
            Arrival::Constant => LoadJson::Constant(open),
            Arrival::Gamma => LoadJson::Gamma(open),
        }
    }

    /// The seed of all that is drawn.
    pub(crate) fn seed(&self) -> u64 {
        self.args.seed
    }

    fn mix_json(&self) -> MixJson {
        let sessions = self.turns.as_ref().map(|turns| SessionsJson {
            turns: turns.into(),
            think_time_s: self.pause().into(),
        });
        let prefixes = self.args.prefixes.map(|prefixes| PrefixesJson {
            groups: prefixes.groups,
            tokens: prefixes.tokens,
        });
        let shares = self.args.priorities.as_ref();
        MixJson {
            prompt_tokens: (&self.prompt).into(),
            cached_prompt_tokens: self.args.cached_prompt,
            output_tokens: (&self.output).into(),
            prefixes,
            sessions,
            priority_shares: shares.map(|shares| shares.0.clone()),
        }
    }
}

impl From<ThinkTimeArg> for ThinkTimeJson {
    fn from(pause: ThinkTimeArg) -> ThinkTimeJson {
        match pause {
            ThinkTimeArg::Fixed(seconds) => ThinkTimeJson::Fixed(seconds),
            ThinkTimeArg::Exponential(mean) => ThinkTimeJson::Drawn {
                distribution: "exponential",
                mean,
            },
        }
    }
}

impl From<&Sizes<'_>> for LengthsJson {
    fn from(sizes: &Sizes<'_>) -> LengthsJson {
        match sizes {
            Sizes::Formula(formula, _) => (*formula).into(),
            Sizes::File(path, file) => LengthsJson::Drawn(DrawnJson::File {
                path: path.display().to_string(),
                values: file.values,
                mean: file.mean,
                range: RangeJson {
                    min: Some(file.shortest),
                    max: Some(file.longest),
                },
            }),
        }
    }
}

impl From<Formula> for LengthsJson {
    fn from(formula: Formula) -> LengthsJson {
        LengthsJson::Drawn(match formula {
            Formula::Fixed(length) => return LengthsJson::Fixed(length),
            Formula::Uniform(range) => DrawnJson::Uniform {
                range: Some(range).into(),
            },
            Formula::Normal { mean, sd, within } => DrawnJson::Normal {
                mean,
                sd,
                within: within.into(),
            },
            Formula::Lognormal {
                median,
                sigma,
                within,
            } => DrawnJson::Lognormal {
                median,
                sigma,
                within: within.into(),
            },
        })
    }
}
