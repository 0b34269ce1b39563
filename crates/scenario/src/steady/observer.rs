//! The observer that finds the steady state of a run.

use rooflut::sim::figures::{Digest, Summary, Totals};
use rooflut::sim::{Observer, RequestRecord, StepRecord};
use rooflut_report::{LatencyMs, PriorityClass, Quantiles};

use super::classes::Classes;
use super::feed::Gate;
use super::goal::{Bound, Goal};
use super::groups::{GroupFigures, Groups};
use super::series::{Estimate, Series};
use super::state::{SteadyState, Window};

/// Finished requests at the first look.
const FIRST_LOOK: u64 = 50;
/// Requests at a look over those at the one before, in percent.
const NEXT_LOOK: u64 = 125;
/// Mean times in service that a warm-up lasts at least.
const LEAST_WARM_UP: f64 = 3.0;
/// Mean times in service before growth is distinguished from warm-up, and bounds are judged.
const LEAST_TIMES: f64 = 10.0;
/// Standard deviations beyond chance that are taken for overload: at one look of many, and in a whole run.
const DRIFTS: [f64; 2] = [6.0, 4.0];
/// Completions per arrival below which servers may be overloaded: the clock rounds.
const KEEPS_UP: f64 = 0.998;
/// Rounds before the window, and within it, where requests fall in step: requests that happen to be served together
/// slow each other down, and their successors arrive together again. That takes about a hundred rounds.
const ROUNDS: [u64; 2] = [100, 50];
/// Requests of a window, from which on a p99 is known: where fewer are left, the figures are those of the whole run.
const LEAST_WINDOW: u64 = 100 * LatencyMs::MIN_BEYOND;
/// Requests of figures, so that a p99 is known well.
const LEAST_REQUESTS: u64 = 1_000;
/// Relative precision of means.
const PRECISION: f64 = 0.03;

/// Properties of a load that are known before it runs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Expected {
    /// Arrivals per second in the long run; `None` where that is not known.
    pub(crate) rate: Option<f64>,
    pub(crate) in_step: InStep,
    /// Time in which queues that the patience of clients bounds fill up, so that growth is no overload before; the end of
    /// time where all queues are bounded, and 0 where none is.
    pub(crate) fills_up_ns: u64,
}

/// The parts of a run that fall in step in the long run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) enum InStep {
    #[default]
    Nothing,
    /// This many users; a round is one request of each user.
    Users(u32),
    /// The requests of each server; a round is a mean time in service.
    Servers,
}

/// How the end of the warm-up is found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum WarmUp {
    /// By the figures.
    Judged,
    /// At a time, in nanoseconds from the start.
    Until(u64),
    /// There is none: the load never becomes steady.
    None,
}

/// An observer that computes the figures of the steady state of a run, and ends the run when its goal is reached.
///
/// The warm-up is over when MSER-5 finds none in the second half of TTFT, TPOT and the number of requests in the
/// servers, in the order of completion. The figures are then begun anew; the window so begun ends with the arrivals.
#[derive(Debug)]
pub(crate) struct Steady<'g> {
    gate: &'g Gate,
    /// `None` for a run of a given number of requests.
    goal: Option<&'g Goal>,
    warm_up: WarmUp,
    expected: Expected,
    digest: Digest,
    /// Figures by priority, where requests differ in it.
    classes: Option<Classes>,
    /// Figures by kind of server, where servers differ.
    groups: Option<Groups>,
    signals: Signals,
    first_arrival_ns: u64,
    now_ns: u64,
    /// Requests that were served or rejected.
    finished: u64,
    /// Requests whose clients gave up.
    abandoned: u64,
    served: u64,
    /// Time of the served requests outside of queues, summed.
    in_service_s: f64,
    next_look: u64,
    /// Begin of the window, and the requests that were finished then.
    begin: Option<(u64, u64)>,
    /// Whether requests in step had the rounds that they need before it.
    is_warm: bool,
    drained: u64,
    is_overloaded: bool,
    /// Whether the bounds hold by the last look.
    judged: Option<bool>,
    holds: Option<bool>,
    is_over: bool,
}

/// The figures of a run, and what they are of.
pub(crate) struct Figures {
    pub(crate) summary: Summary,
    pub(crate) steady: SteadyState,
    pub(crate) by_priority: Option<Vec<PriorityClass>>,
    pub(crate) by_group: Option<Vec<GroupFigures>>,
}

/// The series by which a run is judged.
#[derive(Debug)]
struct Signals {
    ttft: Series,
    tpot: Series,
    e2e: Series,
    /// Requests in the servers.
    held: Series,
    /// Time from one completion to the next, seconds.
    gaps: Series,
    bounds: Vec<(Bound, Series)>,
}

impl Signals {
    fn new(goal: Option<&Goal>) -> Signals {
        let bounds = match goal {
            Some(Goal::Bounds(bounds)) => bounds.as_slice(),
            _ => &[],
        };
        Signals {
            ttft: Series::new(),
            tpot: Series::new(),
            e2e: Series::new(),
            held: Series::new(),
            gaps: Series::new(),
            bounds: bounds.iter().map(|bound| (*bound, Series::new())).collect(),
        }
    }

    /// Adds the scores of a request.
    fn score(&mut self, record: &RequestRecord) {
        for (bound, series) in &mut self.bounds {
            if let Some(score) = bound.score.of(record) {
                series.add(score);
            }
        }
    }

    /// Adds a request that was served.
    fn add(&mut self, record: &RequestRecord, held: u64) {
        let times = [(record.ttft(), &mut self.ttft), (record.tpot(), &mut self.tpot), (record.e2e(), &mut self.e2e)];
        for (time, series) in times {
            if let Some(time) = time {
                series.add(time.0);
            }
        }
        self.held.add(held as f64);
        self.score(record);
    }

    fn have_settled(&self) -> bool {
        let has_tpot = self.tpot.estimate().is_some();
        let tpot = Some(&self.tpot).filter(|_| has_tpot);
        let series = [Some(&self.ttft), tpot, Some(&self.held)];
        series.into_iter().flatten().all(Series::has_settled)
    }

    /// Returns the largest relative error of a mean.
    fn mean_error(&self) -> Option<f64> {
        let first = self.ttft.estimate()?;
        let others = [&self.tpot, &self.e2e].map(Series::estimate);
        let all = others.into_iter().flatten().chain([first]);
        all.map(|estimate| Estimate::relative(&estimate)).max_by(f64::total_cmp)
    }

    /// Returns whether all bounds hold on a window of so many requests; `None` while that is not clear.
    fn hold(&self, requests: u64) -> Option<bool> {
        let judge = |(bound, series): &(Bound, Series)| {
            let is_enough = requests >= bound.least_requests();
            let estimate = series.estimate().filter(|_| is_enough)?;
            estimate.is_at_most(bound.at_most)
        };
        let judged: Vec<Option<bool>> = self.bounds.iter().map(judge).collect();
        if judged.contains(&Some(false)) {
            return Some(false);
        }
        let is_stationary = self.held.estimate()?.is_stationary();
        (is_stationary && judged.iter().all(Option::is_some)).then_some(true)
    }
}

impl<'g> Steady<'g> {
    pub(crate) fn new(
        gate: &'g Gate,
        goal: Option<&'g Goal>,
        warm_up: WarmUp,
        expected: Expected,
        (digest, classes, groups): (Digest, Option<Classes>, Option<Groups>),
    ) -> Steady<'g> {
        Steady {
            gate,
            goal,
            warm_up,
            expected,
            digest,
            classes,
            groups,
            signals: Signals::new(goal),
            first_arrival_ns: u64::MAX,
            now_ns: 0,
            finished: 0,
            abandoned: 0,
            served: 0,
            in_service_s: 0.0,
            next_look: FIRST_LOOK,
            begin: (warm_up == WarmUp::Until(0)).then_some((0, 0)),
            is_warm: false,
            drained: 0,
            is_overloaded: false,
            judged: None,
            holds: None,
            is_over: false,
        }
    }

    /// Returns the figures of the run that ended with `totals`, and what they are of.
    pub(crate) fn into_figures(mut self, totals: &Totals) -> Figures {
        // Where no client has given up, its patience has not bounded any queue.
        if !self.is_over && (self.abandoned == 0 || self.has_filled_up()) {
            let [_, of_run] = DRIFTS;
            self.judge_load(of_run);
        }
        let state = SteadyState {
            window: self.begin.map(|(from_ns, warm_up_requests)| Window {
                from_s: from_ns as f64 / 1e9,
                to_s: self.end_ns() as f64 / 1e9,
                warm_up_requests,
                drain_requests: self.drained,
                mean_error: self.signals.mean_error(),
                is_long: self.lasted(Window::LEAST_TIMES) && self.rounds_are_over(),
            }),
            is_transient: self.warm_up == WarmUp::None,
            is_burst: self.warm_up == WarmUp::None && !self.lasted(Window::LEAST_TIMES),
            is_overloaded: self.is_overloaded,
            holds: self.holds,
        };
        let to_ns = self.end_ns();
        let window = self.begin.map(|(from_ns, _)| [from_ns, to_ns]);
        let whole = totals.span_ns.map_or([0, 0], |(from_ns, to_ns)| [from_ns, to_ns]);
        Figures {
            summary: match window {
                Some([from_ns, to_ns]) => self.digest.into_window(totals, from_ns, to_ns),
                None => self.digest.into_summary(totals),
            },
            steady: state,
            by_priority: self.classes.and_then(Classes::into_figures),
            by_group: self.groups.map(|groups| groups.into_figures(totals, window.unwrap_or(whole))),
        }
    }

    /// Returns the quantiles of the latencies of the figures.
    pub(crate) fn quantiles(&self) -> Quantiles {
        self.digest.quantiles(&Quantiles::PER_MILLE).into()
    }

    /// The end of the window.
    fn end_ns(&self) -> u64 {
        self.gate.closed_ns().min(self.now_ns)
    }

    /// Whether the window, or the run before it, has lasted this many mean times in service.
    fn lasted(&self, times: f64) -> bool {
        let from_ns = self.begin.map_or(self.first_arrival_ns, |(from_ns, _)| from_ns);
        let elapsed_s = self.end_ns().saturating_sub(from_ns) as f64 / 1e9;
        elapsed_s >= times * self.in_service_s / self.served.max(1) as f64
    }

    /// Looks at the figures so far.
    fn look(&mut self) {
        self.next_look = (self.finished * NEXT_LOOK / 100).max(self.finished + 1);
        if self.goal.is_some() && self.has_filled_up() {
            let [of_look, _] = DRIFTS;
            self.judge_load(of_look);
            if self.is_overloaded {
                return self.end();
            }
        }
        let has_ended = self.warm_up == WarmUp::Judged
            && self.begin.is_none()
            && self.gate.left() >= LEAST_WINDOW
            && self.is_warmed_up()
            && self.lasted(LEAST_WARM_UP)
            && self.signals.have_settled();
        if has_ended {
            return self.begin();
        }
        if self.begin.is_none() {
            return self.look_at_warm_up();
        }
        let is_long = self.lasted(LEAST_TIMES) && self.rounds_are_over();
        let requests = self.digest.completed();
        let is_reached = match self.goal {
            None => false,
            Some(Goal::Figures) => {
                let error = self.signals.mean_error();
                let is_precise = error.is_some_and(|error| error <= PRECISION);
                is_long && requests >= LEAST_REQUESTS && is_precise
            }
            Some(Goal::Bounds(_)) => {
                let judged = is_long.then(|| self.signals.hold(requests)).flatten();
                self.agrees(judged)
            }
        };
        if is_reached {
            self.end();
        }
    }

    /// Looks at bounds before the window. Requests that do not wait for answers only fill the servers up: what they miss
    /// on average until then, they miss all the more afterwards.
    fn look_at_warm_up(&mut self) {
        let fills_up = self.expected.rate.is_some() && self.warm_up == WarmUp::Judged;
        if !fills_up || !self.lasted(LEAST_TIMES) {
            return;
        }
        let judged = self.signals.hold(self.digest.completed());
        if self.agrees(judged.filter(|holds| !holds)) {
            self.end();
        }
    }

    /// Notes whether the bounds hold by this look. One look of many may err: returns whether the one before agrees.
    fn agrees(&mut self, judged: Option<bool>) -> bool {
        self.holds = judged.filter(|_| self.judged == judged);
        self.judged = judged;
        self.holds.is_some()
    }

    /// Whether queues that the patience of clients bounds have filled up.
    fn has_filled_up(&self) -> bool {
        self.now_ns.saturating_sub(self.first_arrival_ns) >= self.expected.fills_up_ns
    }

    /// Judges whether the servers keep up with the load.
    fn judge_load(&mut self, drift: f64) {
        let is_judged = self.warm_up != WarmUp::None && self.lasted(LEAST_TIMES);
        let Signals { held, gaps, .. } = &self.signals;
        let lags = |rate: f64| gaps.exceeds(1.0 / (KEEPS_UP * rate), drift);
        let is_slow = || held.grows(drift) || self.expected.rate.is_some_and(lags);
        self.is_overloaded |= is_judged && is_slow();
    }

    /// Whether the window has the rounds that requests in step need, after as many as they need before it.
    fn rounds_are_over(&self) -> bool {
        let [_, within] = ROUNDS;
        self.expected.in_step == InStep::Nothing || self.is_warm && self.has_rounds(within)
    }

    /// Whether the window, or the run before it, has so many rounds of requests in step.
    fn has_rounds(&self, rounds: u64) -> bool {
        let before = self.begin.map_or(0, |(_, requests)| requests);
        match self.expected.in_step {
            InStep::Nothing => true,
            InStep::Users(users) => self.finished - before >= rounds * u64::from(users),
            InStep::Servers => self.lasted(rounds as f64),
        }
    }

    /// Whether requests in step have had the rounds that they need before the window.
    fn is_warmed_up(&self) -> bool {
        let [before, _] = ROUNDS;
        self.has_rounds(before)
    }

    /// Begins the window.
    fn begin(&mut self) {
        let from_ns = match self.warm_up {
            WarmUp::Until(ns) => ns,
            _ => self.now_ns,
        };
        self.is_warm = self.is_warmed_up();
        self.begin = Some((from_ns, self.finished));
        self.digest.restart();
        if let Some(classes) = &mut self.classes {
            classes.restart();
        }
        if let Some(groups) = &mut self.groups {
            groups.restart();
        }
        self.signals = Signals::new(self.goal);
    }

    /// Ends the arrivals.
    fn end(&mut self) {
        self.is_over = true;
        self.gate.close(self.now_ns);
    }
}

impl Observer for Steady<'_> {
    fn wants_steps(&self) -> bool {
        true
    }

    #[inline]
    fn step(&mut self, step: &StepRecord) {
        let is_of_window =
            self.begin.is_none_or(|(from_ns, _)| step.start_ns >= from_ns && step.start_ns < self.gate.closed_ns());
        if is_of_window {
            self.digest.step(step);
        }
        if let Some(groups) = &mut self.groups {
            groups.step(step, is_of_window);
        }
    }

    fn resumed(&mut self, index: usize, gap_ns: u64) {
        if self.begin.is_none() || !self.gate.is_closed() {
            self.digest.resumed(index, gap_ns);
        }
    }

    fn finished(&mut self, index: usize, record: &RequestRecord) {
        self.finished += 1;
        self.first_arrival_ns = self.first_arrival_ns.min(record.request.arrival_ns);
        let timing = record.timing();
        let finish_ns = timing.map(|timing| timing.finish_ns).or(record.abandoned_ns()).unwrap_or(self.now_ns);
        let gap_ns = finish_ns.saturating_sub(self.now_ns);
        self.now_ns += gap_ns;
        let is_drain = finish_ns > self.gate.closed_ns();
        if is_drain && self.begin.is_some() {
            self.drained += 1;
            return;
        }
        if let WarmUp::Until(ns) = self.warm_up
            && self.begin.is_none()
            && finish_ns >= ns
        {
            self.begin();
        }
        self.digest.finished(index, record);
        self.classes.finished(index, record);
        if let Some(groups) = &mut self.groups {
            groups.finished(index, record);
        }
        if !is_drain {
            self.signals.gaps.add(gap_ns as f64 / 1e9);
        }
        if let Some((e2e, waiting)) = record.e2e().zip(record.waiting()) {
            self.served += 1;
            self.in_service_s += e2e.0 - waiting.0;
            if !is_drain {
                // Its source has not heard of it.
                let held = self.gate.held().saturating_sub(1);
                self.signals.add(record, held);
            }
        } else if record.abandoned_ns().is_some() {
            self.abandoned += 1;
            if !is_drain {
                self.signals.score(record);
            }
        }
        if is_drain || self.is_over {
            return;
        }
        if self.finished >= self.next_look {
            self.look();
        }
    }

    fn wants_more(&self) -> bool {
        !(self.is_over && matches!(self.goal, Some(Goal::Bounds(_))))
    }
}
