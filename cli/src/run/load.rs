//! The load of a run as text.

use std::path::Path;

use rooflut_scenario::{Arrival, Formula, GeneratedLoad, LengthRange, Load, Sizes, ThinkTime, Workload};
use rooflut_traces::{ArrivalSource, Trace};

use crate::output::{count, exact_percent, number, plural, scientific};

/// Returns a load that has sent so many requests.
pub(super) fn describe(load: &Load, requests: u64) -> String {
    let requests = plural(requests, "request");
    match load {
        Load::Trace { path, trace } => format!("{requests} of {}", describe_trace(path, trace)),
        Load::Generated(load) => format!("{requests}, {}", describe_generated(load)),
    }
}

/// Whether users do the same at the same pace, so that they come to ask and to be answered together.
pub(super) fn is_in_lock_step(load: &Load) -> bool {
    let Load::Generated(generated) = load else {
        return false;
    };
    let (workload, requests) = (&generated.workload, load.requests());
    let mut lengths = [&generated.prompt, &generated.output].into_iter().chain(&generated.turns);
    if generated.users_in_step() > 0 {
        return true;
    }
    (workload.users).is_some_and(|users| users > 1 && requests.is_none_or(|all| u64::from(users) < all))
        && lengths.all(|sizes| matches!(sizes, Sizes::Formula(Formula::Fixed(_), _)))
        && matches!(workload.think_time(), ThinkTime::Fixed(_))
}

/// Returns the warning on users without a request, where the load has sent `requests`.
pub(super) fn silent_users(load: &Load, requests: u64) -> Option<String> {
    let Load::Generated(generated) = load else {
        return None;
    };
    let users = generated.workload.users?;
    (u64::from(users) > requests).then(|| {
        format!(
            "{} of {} users never ask, because the run ends after {}; use more --requests",
            count(u64::from(users) - requests),
            count(users.into()),
            plural(requests, "request")
        )
    })
}

/// The file, how it was read and what was left out.
fn describe_trace(path: &Path, trace: &Trace) -> String {
    let arrivals = match trace.arrivals {
        ArrivalSource::Poisson { requests_per_s } => {
            let rate = scientific(requests_per_s);
            format!(", Poisson arrivals at its {rate} per second")
        }
        ArrivalSource::AtOnce => ", all at the start".to_owned(),
        _ => String::new(),
    };
    let path = match path.to_str() {
        Some("-") => "standard input".to_owned(),
        _ => path.display().to_string(),
    };
    let mut text = format!("{path} ({}{arrivals})", trace.format.title());
    if let Some(columns) = &trace.columns {
        text += &format!(", {columns}");
    }
    if let Some(requests) = trace.extent.requests {
        text += &format!(", first {}", plural(requests, "request"));
    }
    if let Some(duration_ns) = trace.extent.duration_ns {
        text += &format!(", first {} s", scientific(duration_ns as f64 / 1e9));
    }
    if trace.speed().total_cmp(&1.0).is_ne() {
        text += &format!(", at {} times its speed", scientific(trace.speed()));
    }
    for condition in &trace.conditions {
        text += &format!(", {condition}");
    }
    for (reason, requests) in &trace.left_out {
        text += &format!("; left out: {} {reason}", count(*requests));
    }
    if !trace.ignored.is_empty() {
        text += &format!("; not read: {}", trace.ignored.join(", "));
    }
    if trace.with_images > 0 {
        let requests = plural(trace.with_images, "request");
        text += &format!("; without the images of {requests}, which are not modelled");
    }
    text
}

/// When clients give up, if they do.
pub(super) fn describe_patience(workload: &Workload) -> String {
    let Some(patience_s) = workload.patience else {
        return String::new();
    };
    let retries = match workload.retries() {
        0 => String::new(),
        retries => format!(" and ask again, up to {}", plural(retries.into(), "time")),
    };
    format!("; clients give up after {} s without a token{retries}", scientific(patience_s))
}

fn describe_generated(load: &GeneratedLoad) -> String {
    let workload = &load.workload;
    let users = describe_arrivals(load);
    let seed = if workload.is_random() { format!(" (seed {})", workload.seed()) } else { String::new() };
    let (prompt, output) = (sizes(&load.prompt), sizes(&load.output));
    let cached = match (workload.cached_prompt(), workload.prefix_hit_rate) {
        (_, Some(share)) => format!(" ({} cached)", exact_percent(share)),
        (0, None) => String::new(),
        (cached, None) => format!(" ({} cached)", count(cached.into())),
    };
    let mut text = format!("{users}{seed}; {prompt} prompt{cached} + {output} output tokens");
    if let Some(prefixes) = workload.prefixes {
        let tokens = plural(prefixes.tokens.into(), "token");
        text += &match prefixes.groups {
            1 => format!("; before each prompt a text of {tokens}"),
            groups => {
                let groups = count(groups.into());
                format!("; before each prompt one of {groups} texts of {tokens}")
            }
        };
    }
    if let Some(turns) = &load.turns {
        // Users pause between all requests alike.
        let apart = match workload.users {
            None => format!(", {} apart", seconds(workload.think_time())),
            Some(_) => String::new(),
        };
        text += &format!("; sessions of {} turns{apart}", sizes(turns));
    }
    if let Some(shares) = &workload.priorities {
        let shares = shares.shares().iter();
        let shares: Vec<String> = shares.map(|share| scientific(*share)).collect();
        text += &format!("; priorities in shares {}", shares.join(", "));
    }
    text
}

fn describe_arrivals(load: &GeneratedLoad) -> String {
    let workload = &load.workload;
    if let Some(users) = workload.users {
        let pause = match workload.think_time() {
            ThinkTime::NONE => "without a pause".to_owned(),
            pause => format!("pausing {}", seconds(pause)),
        };
        return format!("{} {pause}", plural(users.into(), "user"));
    }
    let sessions = load.turns.as_ref().map_or("", |_| " sessions");
    let arrivals = match workload.arrival() {
        Arrival::Poisson => "Poisson".to_owned(),
        Arrival::Constant => "equal gaps".to_owned(),
        Arrival::Gamma => {
            let shape = workload.burstiness.map_or_else(String::new, scientific);
            format!("gamma with burstiness {shape}")
        }
    };
    let rate = scientific(workload.rate());
    format!("{rate}{sessions} per second, {arrivals}")
}

fn seconds(pause: ThinkTime) -> String {
    match pause {
        ThinkTime::Fixed(seconds) => format!("{} s", scientific(seconds)),
        ThinkTime::Exponential(mean) => format!("{} s (exponential)", scientific(mean)),
    }
}

fn sizes(sizes: &Sizes) -> String {
    match sizes {
        Sizes::Formula(formula, _) => described(*formula),
        Sizes::File(path, file) => {
            let (values, mean) = (count(file.values as u64), number(file.mean, 0));
            let range = range(file.shortest, file.longest);
            format!("{mean} (mean of {values} in {}, {range})", path.display())
        }
    }
}

/// The typical length and the distribution around it.
fn described(formula: Formula) -> String {
    match formula {
        Formula::Fixed(length) => count(length.into()),
        Formula::Uniform(LengthRange { min, max }) => format!("{} (uniform)", range(min, max)),
        Formula::Normal { mean, sd, within } => {
            let (mean, sd) = (scientific(mean), scientific(sd));
            format!("{mean} (mean, normal, sd {sd}{})", inside(within))
        }
        Formula::Lognormal { median, sigma, within } => {
            let (median, sigma) = (scientific(median), scientific(sigma));
            format!("{median} (median, lognormal, sigma {sigma}{})", inside(within))
        }
    }
}

fn inside(within: Option<LengthRange>) -> String {
    within.map_or_else(String::new, |within| format!(", {}", range(within.min, within.max)))
}

fn range(min: u32, max: u32) -> String {
    format!("{} to {}", count(min.into()), count(max.into()))
}
