//! A generated load, for people.

use super::Workload;
use super::lengths::Formula;
use super::range::Range;
use super::sizes::Sizes;
use super::values::ThinkTimeArg;
use crate::args::Arrival;
use crate::output::{count, number, plural, scientific};

impl Workload<'_> {
    /// What the load is, in one line.
    pub(crate) fn text(&self) -> String {
        let requests = plural(self.count(), "request");
        let (who, seed) = (self.who(), self.seed_text());
        let (prompt, output) = (sizes(&self.prompt), sizes(&self.output));
        let cached = match self.args.cached_prompt {
            0 => String::new(),
            cached => format!(" ({} cached)", count(cached.into())),
        };
        let mut text =
            format!("{requests}, {who}{seed}; {prompt} prompt{cached} + {output} output tokens");
        if let Some(prefixes) = self.args.prefixes {
            let tokens = plural(prefixes.tokens.into(), "token");
            text.push_str(&match prefixes.groups {
                1 => format!("; before each prompt a text of {tokens}"),
                groups => {
                    let groups = count(groups.into());
                    format!("; before each prompt one of {groups} texts of {tokens}")
                }
            });
        }
        if let Some(turns) = &self.turns {
            text.push_str(&format!(
                "; sessions of {} turns{}",
                sizes(turns),
                self.apart()
            ));
        }
        if let Some(shares) = &self.args.priorities {
            let shares: Vec<String> = shares.0.iter().map(|share| scientific(*share)).collect();
            text.push_str(&format!("; priorities in shares {}", shares.join(", ")));
        }
        text
    }

    /// Who sends requests, and when.
    fn who(&self) -> String {
        if let Some(users) = self.args.users {
            let pause = match self.pause() {
                ThinkTimeArg::NONE => "without a pause".to_owned(),
                pause => format!("pausing {}", seconds(pause)),
            };
            return format!("{} {pause}", plural(users.into(), "user"));
        }
        let sessions = if self.turns.is_some() {
            " sessions"
        } else {
            ""
        };
        let arrivals = match self.args.arrival {
            Arrival::Poisson => "Poisson".to_owned(),
            Arrival::Constant => "equal gaps".to_owned(),
            Arrival::Gamma => {
                let shape = self.args.burstiness.map_or_else(String::new, scientific);
                format!("gamma with burstiness {shape}")
            }
        };
        format!(
            "{}{sessions} per second, {arrivals}",
            scientific(self.args.rate)
        )
    }

    /// The seed, if anything is drawn.
    fn seed_text(&self) -> String {
        let args = self.args;
        let arrivals = args.users.is_none() && !matches!(args.arrival, Arrival::Constant);
        let sizes = [Some(&self.prompt), Some(&self.output), self.turns.as_ref()];
        let lengths = sizes.into_iter().flatten().any(Sizes::is_drawn);
        let pauses = matches!(args.think_time, Some(ThinkTimeArg::Exponential(_)));
        let classes = args.prefixes.is_some() || args.priorities.is_some();
        match arrivals || lengths || pauses || classes {
            true => format!(" (seed {})", args.seed),
            false => String::new(),
        }
    }

    /// The pause between the turns of a session, where users do not have the same.
    fn apart(&self) -> String {
        match self.args.users {
            None => format!(", {} apart", seconds(self.pause())),
            Some(_) => String::new(),
        }
    }

    pub(super) fn pause(&self) -> ThinkTimeArg {
        self.args.think_time.unwrap_or(ThinkTimeArg::NONE)
    }
}

fn seconds(pause: ThinkTimeArg) -> String {
    match pause {
        ThinkTimeArg::Fixed(seconds) => format!("{} s", scientific(seconds)),
        ThinkTimeArg::Exponential(mean) => format!("{} s (exponential)", scientific(mean)),
    }
}

fn sizes(sizes: &Sizes<'_>) -> String {
    match sizes {
        Sizes::Formula(formula, _) => described(*formula),
        Sizes::File(path, file) => {
            let (values, mean) = (count(file.values as u64), number(file.mean, 0));
            let range = range(file.shortest, file.longest);
            format!("{mean} (mean of {values} in {}, {range})", path.display())
        }
    }
}

/// The number that is typical, and the distribution around it.
fn described(formula: Formula) -> String {
    match formula {
        Formula::Fixed(length) => count(length.into()),
        Formula::Uniform(Range { min, max }) => format!("{} (uniform)", range(min, max)),
        Formula::Normal { mean, sd, within } => {
            let (mean, sd) = (scientific(mean), scientific(sd));
            format!("{mean} (mean, normal, sd {sd}{})", inside(within))
        }
        Formula::Lognormal {
            median,
            sigma,
            within,
        } => {
            let (median, sigma) = (scientific(median), scientific(sigma));
            format!(
                "{median} (median, lognormal, sigma {sigma}{})",
                inside(within)
            )
        }
    }
}

fn inside(within: Option<Range>) -> String {
    within.map_or_else(String::new, |within| {
        format!(", {}", range(within.min, within.max))
    })
}

fn range(min: u32, max: u32) -> String {
    format!("{} to {}", count(min.into()), count(max.into()))
}
