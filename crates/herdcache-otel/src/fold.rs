//! The sum of what has no series of its own.
//!
//! Counters are exact and never fall: what a cache had counted when it was last
//! seen stays in the sum after it was dropped. Up-down counters are the sum of the
//! live, gauges their largest.

use std::collections::HashMap;

use crate::table::{Kind, metrics};
use crate::values::{Value, Values};

/// One owner's values of every metric, by its place in the table.
pub(crate) type Line = Vec<Values>;

/// The folded owners of one kind.
#[derive(Debug, Default)]
pub(crate) struct Fold {
    /// Counters of those that are gone.
    retired: Line,
    /// Those that were live at the last look.
    live: HashMap<String, Line>,
    /// How many there have been.
    pub(crate) ever: u64,
}

impl Fold {
    /// Takes what is live now and gives the sum; `None` while there was never any.
    pub(crate) fn sum(&mut self, now: HashMap<String, Line>) -> Option<Line> {
        for (name, line) in &now {
            match self.live.remove(name) {
                // Another of the same name: the account began anew.
                Some(before) if fell(&before, line) => {
                    self.ever += 1;
                    retire(&mut self.retired, &before);
                }
                Some(_) => {}
                None => self.ever += 1,
            }
        }
        for gone in std::mem::replace(&mut self.live, now).into_values() {
            retire(&mut self.retired, &gone);
        }
        if self.ever == 0 {
            return None;
        }
        let mut sum = self.retired.clone();
        for line in self.live.values() {
            add(&mut sum, line, |_| true);
        }
        Some(sum)
    }
}

fn retire(retired: &mut Line, gone: &Line) {
    add(retired, gone, |kind| kind == Kind::Counter);
}

fn fell(before: &Line, now: &Line) -> bool {
    let counters = metrics().iter().zip(before.iter().zip(now)).filter(|(metric, _)| metric.kind == Kind::Counter);
    let values = counters.flat_map(|(_, (before, now))| before.sets.iter().zip(&now.sets));
    values.into_iter().any(|pair| matches!(pair, (Some(Value::Count(then)), Some(Value::Count(now))) if now < then))
}

/// Adds one line to another, as far as it is of the wanted kinds.
fn add(sum: &mut Line, line: &Line, wanted: impl Fn(Kind) -> bool) {
    sum.resize(line.len().max(sum.len()), Values::default());
    let lines = sum.iter_mut().zip(line).zip(metrics());
    for ((into, from), _) in lines.filter(|(_, metric)| wanted(metric.kind)) {
        into.sets.resize(from.sets.len().max(into.sets.len()), None);
        for (set, class, count) in &from.classes {
            match into.classes.iter_mut().find(|(other, name, _)| (other, name) == (set, class)) {
                Some((_, _, sum)) => *sum = sum.saturating_add(*count),
                None => into.classes.push((*set, class.clone(), *count)),
            }
        }
        for (into, from) in into.sets.iter_mut().zip(&from.sets) {
            *into = match (*into, *from) {
                (Some(Value::Count(one)), Some(Value::Count(other))) => Some(Value::Count(one.saturating_add(other))),
                (Some(Value::Real(one)), Some(Value::Real(other))) => Some(Value::Real(one.max(other))),
                (one, other) => other.or(one),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::slot;

    fn line(requests: u64, active: u64, peak: f64) -> Line {
        let mut line: Line = metrics().iter().map(|_| Values::default()).collect();
        line[slot("herdcache.origin.calls")].count(requests);
        line[slot("herdcache.origin.active")].count(active);
        line[slot("herdcache.origin.starts.peak")].real(peak);
        line
    }

    fn now(lines: &[(&str, Line)]) -> HashMap<String, Line> {
        lines.iter().map(|(name, line)| ((*name).to_owned(), line.clone())).collect()
    }

    fn seen(sum: &Line) -> [Option<Value>; 3] {
        ["calls", "active", "starts.peak"]
            .map(|name| sum[slot(&format!("herdcache.origin.{name}"))].sets.first().copied().flatten())
    }

    /// L7: sums are exact, and do not fall when a folded cache is dropped or built anew under its name.
    #[test]
    fn l7_folded_counters_never_fall() {
        let mut fold = Fold::default();
        assert_eq!(fold.sum(HashMap::new()), None);
        let sum = fold.sum(now(&[("a", line(5, 1, 3.0)), ("b", line(7, 2, 2.0))])).unwrap();
        assert_eq!(seen(&sum), [Some(Value::Count(12)), Some(Value::Count(3)), Some(Value::Real(3.0))]);
        let sum = fold.sum(now(&[("b", line(9, 0, 1.0))])).unwrap();
        assert_eq!(seen(&sum), [Some(Value::Count(14)), Some(Value::Count(0)), Some(Value::Real(1.0))]);
        let sum = fold.sum(now(&[("b", line(1, 0, 1.0))])).unwrap();
        assert_eq!(seen(&sum)[0], Some(Value::Count(15)));
        let sum = fold.sum(HashMap::new()).unwrap();
        assert_eq!(seen(&sum), [Some(Value::Count(15)), None, None]);
        assert_eq!(fold.ever, 3);
    }
}
