//! Kinds of servers that a plan left out, those of one reason together.

use rooflut_error::Shortage;
use rooflut_plan::{Choice, Excluded, Plan, Reason};

use crate::error::with_flags;
use crate::output::{count, number, three_digits, wrapped};

/// Returns a paragraph for each reason, with its kinds of servers.
pub(super) fn text(plan: &Plan) -> String {
    let mut groups: Vec<Group> = Vec::new();
    for Excluded { choice, reason, .. } in &plan.excluded {
        let about = About::of(reason);
        let group = groups.iter_mut().find(|group| group.about.is_like(&about));
        match group {
            Some(group) => group.add(choice, &about),
            None => {
                let mut group = Group::new(about.clone());
                group.add(choice, &about);
                groups.push(group);
            }
        }
    }
    let paragraphs = groups.iter().map(|group| wrapped("left out", &group.text()));
    paragraphs.collect()
}

/// How a number is written.
type Written = fn(f64) -> String;

/// A reason, whose number may differ between kinds of servers.
#[derive(Debug, Clone)]
struct About {
    before: String,
    /// The number, and how it is written.
    number: Option<(f64, Written)>,
    after: String,
}

impl About {
    fn of(reason: &Reason) -> About {
        let whole = |value: f64| count(value as u64);
        let gib: Written = |bytes| number(bytes / f64::from(1 << 30), 1);
        let with = |before: String, value, shown, after: String| About { before, number: Some((value, shown)), after };
        match reason {
            Reason::Unable(error) => match error.shortage() {
                Some(Shortage { gpu, utilization, needed_bytes, usable_bytes }) => with(
                    format!("does not fit {gpu}: each GPU needs "),
                    *needed_bytes,
                    gib,
                    format!(
                        " GiB for weights, activations and one KV block and has {} GiB at --gpu-memory-utilization \
                         {utilization}",
                        gib(*usable_bytes)
                    ),
                ),
                None => About { before: with_flags(error), number: None, after: String::new() },
            },
            Reason::Slow { limit, least_ms } => with(
                format!("cannot meet {limit}: an idle server takes "),
                *least_ms,
                three_digits,
                " ms or more".to_owned(),
            ),
            Reason::TooManyGpus { least, allowed } => with(
                "the load takes at least ".to_owned(),
                *least as f64,
                whole,
                format!(" GPUs by step times; --max-gpus allows {}", count((*allowed).into())),
            ),
            other => About { before: other.to_string(), number: None, after: String::new() },
        }
    }

    fn is_like(&self, other: &About) -> bool {
        (&self.before, &self.after) == (&other.before, &other.after)
    }
}

/// The kinds of servers of one reason.
struct Group {
    about: About,
    least: f64,
    most: f64,
    /// Everything but the tensor parallelism, and the values of that.
    kinds: Vec<(String, Vec<u32>)>,
}

impl Group {
    fn new(about: About) -> Group {
        Group { about, least: f64::INFINITY, most: f64::NEG_INFINITY, kinds: Vec::new() }
    }

    fn add(&mut self, choice: &Choice, about: &About) {
        if let Some((value, _)) = about.number {
            self.least = self.least.min(value);
            self.most = self.most.max(value);
        }
        let kind = beside_tp(choice);
        match self.kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, ranks)) if ranks.contains(&choice.tp) => (),
            Some((_, ranks)) => ranks.push(choice.tp),
            None => self.kinds.push((kind, vec![choice.tp])),
        }
    }

    /// Returns the kinds and the reason: `tp 1, 2 on h100; tp 1 dp 2 on h100: does not fit`.
    fn text(&self) -> String {
        let kinds = self
            .kinds
            .iter()
            .map(|(kind, ranks)| {
                let ranks: Vec<String> = ranks.iter().map(u32::to_string).collect();
                format!("tp {}{kind}", ranks.join(", "))
            })
            .collect::<Vec<_>>()
            .join("; ");
        let number = self.about.number.map(|(_, shown)| {
            let (least, most) = (shown(self.least), shown(self.most));
            if least == most { least } else { format!("{least} to {most}") }
        });
        let About { before, after, .. } = &self.about;
        format!("{kinds}: {before}{}{after}", number.unwrap_or_default())
    }
}

/// Returns what a kind of server is beside its tensor parallelism.
fn beside_tp(choice: &Choice) -> String {
    let mut kind = String::new();
    if choice.dp > 1 {
        kind += &format!(" dp {}", choice.dp);
    }
    if let Some(pp) = choice.pp.filter(|pp| *pp > 1) {
        kind += &format!(" pp {pp}");
    }
    if choice.expert_parallel {
        kind += " ep";
    }
    if let Some(dtype) = choice.dtype {
        kind += &format!(" {dtype}");
    }
    if let Some(dtype) = choice.kv_dtype {
        kind += &format!(" KV {dtype}");
    }
    kind + &format!(" on {}", choice.gpu_name)
}
