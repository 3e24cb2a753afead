//! The lines under one name, over time: of a cache and those built after it under its name, or of all that share `~other`.
//!
//! Counters are exact and never fall: what a cache had counted when it was last
//! seen stays under its name after it was dropped. A counter that falls looks like
//! a burst to Prometheus, and the SDK subtracts without a look where a reader wants
//! differences. Up-down counters are the sum of the live, gauges their largest.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use crate::series::Series;
use crate::table::{Kind, metrics};
use crate::values::{Value, Values};

/// One owner's values of every metric, by its place in the table.
pub(crate) type Line = Vec<Values>;

/// The lines that were seen in one look, by the name that they are told under, and by what tells their owners apart.
pub(crate) type Seen = HashMap<String, (Arc<Series>, HashMap<u64, Line>)>;

/// Everything that is told under names of caches, or under names of gates.
#[derive(Debug, Default)]
pub(crate) struct Folds(HashMap<String, (Arc<Series>, Fold)>);

impl Folds {
    /// Takes one look and gives what is told under each name that there ever was.
    pub(crate) fn take(&mut self, mut seen: Seen, when: When) -> Vec<(Arc<Series>, Line)> {
        for (name, (series, _)) in &seen {
            self.0.entry(name.clone()).or_insert_with(|| (Arc::clone(series), Fold::default()));
        }
        let told = self.0.iter_mut().map(|(name, (series, fold))| {
            let now = seen.remove(name).map(|(_, lines)| lines).unwrap_or_default();
            (Arc::clone(series), fold.sum(now, when))
        });
        told.collect()
    }

    /// How many owners have been told under this name.
    pub(crate) fn ever(&self, name: &str) -> u64 {
        self.0.get(name).map_or(0, |(_, fold)| fold.ever)
    }
}

/// When a look was taken, among those of all readers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct When {
    began: u64,
    ended: u64,
}

/// Numbers the beginnings and the ends of looks in the order in which they come.
#[derive(Debug, Default)]
pub(crate) struct Looks(AtomicU64);

impl Looks {
    /// Takes a look, and says when that was.
    pub(crate) fn take<T>(&self, look: impl FnOnce() -> T) -> (T, When) {
        let began = self.0.fetch_add(1, SeqCst);
        let taken = look();
        (taken, When { began, ended: self.0.fetch_add(1, SeqCst) })
    }
}

/// The owners that are told under one name.
#[derive(Debug, Default)]
struct Fold {
    /// Counters of those that are gone.
    past: Line,
    /// Those that went last: a look that was taken before, by another reader, may still have them.
    gone: VecDeque<u64>,
    /// Those that were live at the last look, with the latest end of a look that found them.
    live: HashMap<u64, (Line, u64)>,
    /// How many there have been.
    ever: u64,
}

/// Owners of which it is remembered that they are gone: far more than can go while two readers look at once.
const GONE: usize = 1_024;

impl Fold {
    /// Takes what is live now and gives the sum.
    fn sum(&mut self, now: HashMap<u64, Line>, when: When) -> Line {
        let mut live = HashMap::new();
        for (owner, mut line) in now {
            if self.gone.contains(&owner) {
                continue;
            }
            let mut found = when.ended;
            match self.live.remove(&owner) {
                Some((before, last)) => {
                    add(&mut line, &before, |kind| (kind == Kind::Counter).then_some(u64::max));
                    found = found.max(last);
                }
                None => self.ever += 1,
            }
            live.insert(owner, (line, found));
        }
        for (owner, (line, found)) in std::mem::replace(&mut self.live, live) {
            // Built while another reader looked: a look that had begun by then may have missed it, and does not bury it.
            if when.began < found {
                self.live.insert(owner, (line, found));
                continue;
            }
            add(&mut self.past, &line, |kind| (kind == Kind::Counter).then_some(u64::saturating_add));
            self.gone.push_back(owner);
        }
        self.gone.drain(..self.gone.len().saturating_sub(GONE));
        let mut sum = self.past.clone();
        for (line, _) in self.live.values() {
            add(&mut sum, line, |_| Some(u64::saturating_add));
        }
        sum
    }
}

/// Adds one line to another, the counts of each kind as told; of what is no count, the larger stays.
fn add(sum: &mut Line, line: &Line, of: impl Fn(Kind) -> Option<fn(u64, u64) -> u64>) {
    sum.resize(line.len().max(sum.len()), Values::default());
    for ((into, from), metric) in sum.iter_mut().zip(line).zip(metrics()) {
        let Some(join) = of(metric.kind) else { continue };
        for (set, class, count) in &from.classes {
            match into.classes.iter_mut().find(|(other, name, _)| (other, name) == (set, class)) {
                Some((_, _, sum)) => *sum = join(*sum, *count),
                None => into.classes.push((*set, class.clone(), *count)),
            }
        }
        into.sets.resize(from.sets.len().max(into.sets.len()), None);
        for (into, from) in into.sets.iter_mut().zip(&from.sets) {
            *into = match (*into, *from) {
                (Some(Value::Count(one)), Some(Value::Count(other))) => Some(Value::Count(join(one, other))),
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

    fn now(lines: &[(u64, Line)]) -> HashMap<u64, Line> {
        lines.iter().cloned().collect()
    }

    fn seen(sum: &Line) -> [Option<Value>; 3] {
        ["calls", "active", "starts.peak"]
            .map(|name| sum[slot(&format!("herdcache.origin.{name}"))].sets.first().copied().flatten())
    }

    /// L7: sums are exact, and do not fall when a cache is dropped or built anew under its name.
    #[test]
    fn l7_folded_counters_never_fall() {
        let (mut fold, looks) = (Fold::default(), Looks::default());
        let sum = fold.sum(now(&[(1, line(5, 1, 3.0)), (2, line(7, 2, 2.0))]), looks.take(|| ()).1);
        assert_eq!(seen(&sum), [Some(Value::Count(12)), Some(Value::Count(3)), Some(Value::Real(3.0))]);
        let sum = fold.sum(now(&[(2, line(9, 0, 1.0))]), looks.take(|| ()).1);
        assert_eq!(seen(&sum), [Some(Value::Count(14)), Some(Value::Count(0)), Some(Value::Real(1.0))]);
        let sum = fold.sum(now(&[(3, line(1, 0, 1.0))]), looks.take(|| ()).1);
        assert_eq!(seen(&sum)[0], Some(Value::Count(15)));
        let sum = fold.sum(HashMap::new(), looks.take(|| ()).1);
        assert_eq!(seen(&sum), [Some(Value::Count(15)), None, None]);
        assert_eq!(fold.ever, 3);
        // A look from before, by another reader: what is gone is not there twice, and nothing falls.
        let sum = fold.sum(now(&[(2, line(8, 0, 1.0))]), looks.take(|| ()).1);
        assert_eq!((seen(&sum)[0], fold.ever), (Some(Value::Count(15)), 3));
        fold.sum(now(&[(4, line(6, 0, 1.0))]), looks.take(|| ()).1);
        let sum = fold.sum(now(&[(4, line(5, 0, 1.0))]), looks.take(|| ()).1);
        assert_eq!(seen(&sum)[0], Some(Value::Count(21)));
    }

    /// L7: a cache that is built while two readers look is no dropped one for the reader that had looked before.
    #[test]
    fn l7_a_look_does_not_bury_what_it_came_too_early_for() {
        let (mut fold, looks) = (Fold::default(), Looks::default());
        let (late, when_late) = looks.take(|| {
            // It lists no cache; one is built; another reader looks, and is the first to have its sum.
            let (built, when) = looks.take(|| now(&[(1, line(5, 1, 3.0))]));
            assert_eq!(seen(&fold.sum(built, when))[0], Some(Value::Count(5)));
            HashMap::new()
        });
        let sum = fold.sum(late, when_late);
        assert_eq!(seen(&sum), [Some(Value::Count(5)), Some(Value::Count(1)), Some(Value::Real(3.0))]);
        let sum = fold.sum(now(&[(1, line(9, 0, 1.0))]), looks.take(|| ()).1);
        assert_eq!((seen(&sum)[0], fold.ever), (Some(Value::Count(9)), 1), "it goes on counting");
        let sum = fold.sum(HashMap::new(), looks.take(|| ()).1);
        assert_eq!(seen(&sum), [Some(Value::Count(9)), None, None], "a look that began later buries it");
    }
}
