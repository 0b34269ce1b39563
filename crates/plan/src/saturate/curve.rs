//! Figures at rates around saturation.

use rayon::iter::{IntoParallelIterator, ParallelIterator};

use rooflut_scenario::{Error, Kind};

use crate::limit::Limits;
use crate::saturate::knee::{Sample, knee};
use crate::saturate::point::Point;
use crate::saturate::rates::Rates;

/// Rates beside that of saturation, as shares of it.
const SHARES: [f64; 11] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.25, 1.5];

/// Figures of a deployment at several rates.
pub(crate) struct Curve<'r> {
    rates: &'r Rates<'r>,
    limits: &'r Limits,
    /// Ascending by rate.
    pub(crate) points: Vec<Point>,
}

impl<'r> Curve<'r> {
    /// Simulates rates around that of the step of saturation, in parallel.
    pub(crate) fn around(saturation: i32, rates: &'r Rates<'r>, limits: &'r Limits) -> Result<Curve<'r>, Error> {
        let highest = rates.scale.rate(saturation);
        let all = SHARES.into_par_iter().map(|share| share * highest);
        let points = all.map(|rate| Point::of(rates.run, rate, rates.seeds, limits));
        let mut curve = Curve { rates, limits, points: points.collect::<Result<_, _>>()? };
        curve.at(saturation)?;
        Ok(curve)
    }

    /// Returns the point of a step.
    pub(crate) fn at(&mut self, step: i32) -> Result<Point, Error> {
        self.at_rate(self.rates.scale.rate(step))
    }

    /// Simulates the answer, the point of a step, as its command does. It meets the limits in the runs of the search,
    /// which end when that is clear.
    pub(crate) fn set_answer(&mut self, step: i32) -> Result<(), Error> {
        let rate = self.rates.scale.rate(step);
        let run = self.rates.run.with_rate(rate)?;
        let known = self.at(step)?;
        let point = match run.sampled() {
            Some(_) => Point { rate, ..Point::of_all(&run, self.rates.seeds, self.limits)? },
            None => known,
        };
        let place = self.points.partition_point(|other| other.rate < rate);
        if let Some(answer) = self.points.get_mut(place) {
            *answer = Point { meets: true, ..point };
        }
        Ok(())
    }

    /// Returns the point of a rate, which is simulated unless the curve has it.
    fn at_rate(&mut self, rate: f64) -> Result<Point, Error> {
        let place = self.points.partition_point(|other| other.rate < rate);
        let known = self.points.get(place).filter(|other| other.rate <= rate);
        if let Some(known) = known {
            return Ok(known.clone());
        }
        let new = Point::of(self.rates.run, rate, self.rates.seeds, self.limits)?;
        self.points.insert(place, new.clone());
        Ok(new)
    }

    /// Returns the knee of the rates up to that of the step of saturation.
    pub(crate) fn knee(&mut self, saturation: i32) -> Result<Point, Error> {
        let highest = self.rates.scale.rate(saturation);
        let sustained = self.points.iter().filter(|point| point.rate <= highest);
        let samples: Vec<Sample> = sustained.filter_map(Point::sample).collect();
        match knee(&samples) {
            Some(rate) => self.at_rate(rate),
            // No run served a request.
            None => Err(overloaded(self.points.first().map_or(0.0, |point| point.rate))),
        }
    }
}

/// The servers do not keep up with the lowest rate that was tried.
pub(crate) fn overloaded(lowest: f64) -> Error {
    let text = format!("the servers do not keep up with a rate of {lowest:.3} per second; use more or faster servers");
    Error::new(Kind::NotMet, text)
}
