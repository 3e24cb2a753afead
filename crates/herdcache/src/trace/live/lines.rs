//! Which events become lines of a log: so many of a kind within a second, and how many were left out.
//!
//! The limit is for the lines, not for the events: it holds in every second, wherever it begins, however
//! late they are said. What was left out is told with the next line of the kind, or by a line of its own
//! once there is room for one. Pure: time is given.

use std::mem::Discriminant;

use herdfeed::{Event, Fact, Severity};

use crate::clock::Moment;

/// Lines of one kind within a second.
const PER_SECOND: usize = 5;
/// Events that wait to be said.
const WAITING: usize = 64;
const SECOND: Moment = 1_000_000_000;

/// What is to be said.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Line {
    /// It happened, and so many of its kind before it that were left out.
    Event(Event, u64),
    /// So many were left out, and none came after them.
    LeftOut { kind: String, count: u64, severity: Severity },
}

/// When the rest is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// When there is room for a line.
    InTime,
    /// Now: nobody may come later.
    Now,
}

/// What waits, and what was said of each kind.
pub(super) struct Lines {
    kinds: Vec<Kind>,
    waiting: Vec<(Event, u64)>,
}

struct Kind {
    of: Discriminant<Fact>,
    name: String,
    /// When the last lines were said, in turn.
    said: [Moment; PER_SECOND],
    next: usize,
    waiting: usize,
    /// Since the last line.
    left_out: u64,
    /// The highest of what was left out.
    severity: Severity,
}

impl Lines {
    pub(super) const fn new() -> Self {
        Self { kinds: Vec::new(), waiting: Vec::new() }
    }

    /// Something has happened.
    pub(super) fn note(&mut self, event: &Event, now: Moment) {
        let of = std::mem::discriminant(&event.fact);
        let place = self.kinds.iter().position(|kind| kind.of == of).unwrap_or_else(|| {
            self.kinds.push(Kind::new(event));
            self.kinds.len() - 1
        });
        let kind = &mut self.kinds[place];
        if kind.room(now) <= kind.waiting || self.waiting.len() >= WAITING {
            kind.left_out += 1;
            kind.severity = kind.severity.max(event.severity);
            return;
        }
        kind.waiting += 1;
        self.waiting.push((event.clone(), kind.take_left_out()));
    }

    /// What is to be said now.
    pub(super) fn take(&mut self, rest: Rest, now: Moment) -> Vec<Line> {
        let waiting = std::mem::take(&mut self.waiting);
        let mut lines: Vec<_> = waiting.into_iter().map(|(event, before)| Line::Event(event, before)).collect();
        for kind in &mut self.kinds {
            (0..std::mem::take(&mut kind.waiting)).for_each(|_| kind.say(now));
            if kind.left_out > 0 && (rest == Rest::Now || kind.room(now) > 0) {
                kind.say(now);
                let (name, severity) = (kind.name.clone(), kind.severity);
                lines.push(Line::LeftOut { kind: name, count: kind.take_left_out(), severity });
            }
        }
        lines
    }

    /// When there is something to say.
    pub(super) fn due(&self) -> Option<Moment> {
        if !self.waiting.is_empty() {
            return Some(0);
        }
        self.kinds.iter().filter(|kind| kind.left_out > 0).map(Kind::free_at).min()
    }
}

impl Kind {
    fn new(event: &Event) -> Self {
        let told = serde_json::to_value(&event.fact).unwrap_or_default();
        let name = told.get("kind").and_then(serde_json::Value::as_str).unwrap_or("unknown").to_owned();
        let of = std::mem::discriminant(&event.fact);
        Self { of, name, said: [0; PER_SECOND], next: 0, waiting: 0, left_out: 0, severity: Severity::Info }
    }

    /// How many more lines this second takes. Time goes back only where a test's clock is set anew.
    fn room(&self, now: Moment) -> usize {
        self.said.iter().filter(|said| now < **said || now - **said >= SECOND).count()
    }

    /// When there is room again.
    fn free_at(&self) -> Moment {
        self.said[self.next].saturating_add(SECOND)
    }

    fn say(&mut self, now: Moment) {
        self.said[self.next] = now;
        self.next = (self.next + 1) % PER_SECOND;
    }

    fn take_left_out(&mut self) -> u64 {
        self.severity = Severity::Info;
        std::mem::take(&mut self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Moment = 100 * SECOND;

    fn tuned(severity: Severity) -> Event {
        let fact = Fact::Tuned { what: "it".to_owned() };
        Event { seq: 0, mono_us: 0, unix_us: 0, severity, subject: "users".to_owned(), fact }
    }

    /// An event at each of these moments, each said at once: when a line was said, and how many it says were left out.
    fn said(moments: impl Iterator<Item = Moment>) -> Vec<(Moment, u64)> {
        let mut lines = Lines::new();
        let mut said = Vec::new();
        for now in moments {
            lines.note(&tuned(Severity::Warn), now);
            said.extend(lines.take(Rest::InTime, now).into_iter().map(|line| match line {
                Line::Event(_, before) => (now, before),
                Line::LeftOut { .. } => panic!("the next event is there to say it"),
            }));
        }
        said
    }

    /// L7: five, in every second wherever it begins, also across the border of a second of the clock.
    #[test]
    fn l7_in_any_one_second_there_are_five_lines_of_a_kind() {
        let said = said((0..4_000).map(|step| START + SECOND * 9 / 10 + step * SECOND / 1_000));
        assert_eq!(said.len(), 20);
        for (first, _) in &said {
            let within = said.iter().filter(|(now, _)| (*first..first + SECOND).contains(now)).count();
            assert!(within <= 5, "{within} from {first} on");
        }
        assert_eq!(said.iter().map(|(_, before)| before).sum::<u64>(), 3 * 995);
    }

    /// L7: what was noted long ago counts when it is said.
    #[test]
    fn l7_lines_that_are_said_late_count_then() {
        let mut lines = Lines::new();
        (0..7).for_each(|_| lines.note(&tuned(Severity::Info), START));
        let later = START + 10 * SECOND;
        (0..7).for_each(|_| lines.note(&tuned(Severity::Info), later));
        let events = lines.take(Rest::InTime, later);
        assert_eq!(events.len(), 5);
        assert_eq!((lines.take(Rest::InTime, later), lines.due()), (Vec::new(), Some(later + SECOND)));
    }

    /// L7: what was left out is told though no more of its kind come, as grave as it was; at the end at once.
    #[test]
    fn l7_what_was_left_out_is_told_also_if_it_was_the_last() {
        for (rest, when) in [(Rest::InTime, START + SECOND), (Rest::Now, START)] {
            let mut lines = Lines::new();
            (0..5).for_each(|_| lines.note(&tuned(Severity::Info), START));
            (0..2).for_each(|_| lines.note(&tuned(Severity::Critical), START));
            lines.note(&tuned(Severity::Warn), START);
            assert_eq!(lines.take(Rest::InTime, START).len(), 5);
            let told = Line::LeftOut { kind: "tuned".to_owned(), count: 3, severity: Severity::Critical };
            assert_eq!(lines.take(rest, when), [told]);
            assert_eq!((lines.take(Rest::Now, when), lines.due()), (Vec::new(), None));
        }
    }

    /// More than can wait is left out and counted.
    #[test]
    fn what_waits_is_bounded() {
        let mut lines = Lines::new();
        (0..1_000).for_each(|_| lines.note(&tuned(Severity::Info), START));
        let events = lines.take(Rest::Now, START);
        assert!(matches!(events.last(), Some(Line::LeftOut { count: 995, .. })) && events.len() == 6, "{events:?}");
    }
}
