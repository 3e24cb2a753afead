//! The log of what happened: events of the processes and marks of our own.

use std::collections::VecDeque;

use herdfeed::{Event, Fact, Severity};

use crate::msg::Farewell;

/// The most entries kept.
pub const CAPACITY: usize = 2_000;

/// What an entry tells.
#[derive(Clone, Debug, PartialEq)]
pub enum Occurrence {
    /// A process told it.
    Event(Event),
    /// The target was reached.
    Attached,
    /// The target cannot be reached any more.
    Lost {
        /// Why, in one line.
        why: String,
    },
    /// The stream is open, but nothing comes.
    Silent,
    /// It comes again.
    Heard {
        /// How long nothing came.
        after_us: u64,
    },
    /// The process is gone for good.
    Ended(Farewell),
    /// The process has started anew; counters are re-based.
    Restarted {
        /// What changed with it, as `1.2 -> 1.3`; empty when nothing is known.
        versions: String,
    },
    /// Events that did not arrive.
    Missed {
        /// How many.
        events: u64,
    },
}

/// One entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Counts entries; never used twice.
    pub number: u64,
    /// When it happened, wall time.
    pub unix_us: u64,
    /// The name of the target it is about.
    pub target: String,
    /// What happened.
    pub occurrence: Occurrence,
}

/// The newest entries, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Log {
    entries: VecDeque<Entry>,
    next: u64,
}

impl Log {
    /// Adds an entry; the oldest goes when there are too many.
    pub fn add(&mut self, unix_us: u64, target: &str, occurrence: Occurrence) {
        if self.entries.len() >= CAPACITY {
            self.entries.pop_front();
        }
        self.entries.push_back(Entry { number: self.next, unix_us, target: target.to_owned(), occurrence });
        self.next += 1;
    }

    /// Every entry, newest last.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.iter()
    }
}

impl Entry {
    /// How much it asks of an operator.
    pub fn severity(&self) -> Severity {
        match &self.occurrence {
            Occurrence::Event(event) => event.severity,
            Occurrence::Attached | Occurrence::Heard { .. } | Occurrence::Ended(Farewell::Said) => Severity::Info,
            Occurrence::Ended(Farewell::Unsaid)
            | Occurrence::Silent
            | Occurrence::Lost { .. }
            | Occurrence::Restarted { .. }
            | Occurrence::Missed { .. } => Severity::Warn,
        }
    }
}

/// Whether a fact is worth a line: single flights are seen in their own panel.
pub fn is_told(fact: &Fact) -> bool {
    !matches!(fact, Fact::FlightStarted { .. } | Fact::FlightLanded { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_bounded_and_numbers_go_on() {
        let mut log = Log::default();
        for at in 0..CAPACITY as u64 + 5 {
            log.add(at, "a", Occurrence::Attached);
        }
        assert_eq!(log.entries().count(), CAPACITY);
        assert_eq!(log.entries().next().unwrap().number, 5);
    }
}
