//! What one lane has seen.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use herdfeed::{ClosedSet, Outcome};
use tokio::time::Instant;

use super::client::{AskError, Reply};
use super::lane::Class;

/// A request that was sent this long after it was due was sent late: the
/// generator, not the shop, had no connection or no time for it.
const LATE: Duration = Duration::from_millis(10);
/// Longest latency told apart, in microseconds: an hour.
const LONGEST_US: u64 = 3_600_000_000;
/// The word for an answer without an outcome that herdcache knows.
const NO_OUTCOME: &str = "none";

/// Counts and latencies of one lane.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// Requests handed to the client.
    pub(crate) sent: u64,
    /// Requests that were due and not sent, since too many were open.
    pub(crate) unsent: u64,
    /// Requests that got their connection late.
    pub(crate) late: u64,
    /// Most requests due and not answered at once.
    pub(crate) open_peak: u64,
    pub(crate) by_status: BTreeMap<u16, u64>,
    pub(crate) by_outcome: BTreeMap<&'static str, u64>,
    /// Requests without an answer, by what happened.
    pub(crate) failures: BTreeMap<&'static str, u64>,
    /// Latencies from when a request was due to its answer's end, in microseconds.
    pub(crate) all: Histogram<u64>,
    /// The same, of the hot bundle only.
    pub(crate) hot: Histogram<u64>,
}

impl Default for Record {
    #[expect(clippy::expect_used, reason = "the bounds and the number of digits are constants that the crate accepts")]
    fn default() -> Self {
        // Three digits: a latency is at most 0.1 % off.
        let all = Histogram::new_with_max(LONGEST_US, 3).expect("1 to an hour with 3 digits");
        let hot = all.clone();
        Self {
            sent: 0,
            unsent: 0,
            late: 0,
            open_peak: 0,
            by_status: BTreeMap::new(),
            by_outcome: BTreeMap::new(),
            failures: BTreeMap::new(),
            all,
            hot,
        }
    }
}

impl Record {
    pub(crate) fn unsent(&mut self) {
        self.unsent += 1;
    }

    /// A request was handed to the client, and `open` are now unanswered.
    pub(crate) fn sent(&mut self, open: u64) {
        self.sent += 1;
        self.open_peak = self.open_peak.max(open);
    }

    /// A request that was due at `due` ended.
    pub(crate) fn ended(&mut self, class: Class, due: Instant, answer: &Result<Reply, AskError>) {
        let us = u64::try_from(due.elapsed().as_micros()).unwrap_or(u64::MAX).clamp(1, LONGEST_US);
        // A request without an answer took at least this long, so leaving it out would flatter.
        self.all.saturating_record(us);
        match class {
            Class::Hot => self.hot.saturating_record(us),
            Class::Other => {}
        }
        match answer {
            Ok(reply) => {
                *self.by_status.entry(reply.status).or_default() += 1;
                *self.by_outcome.entry(outcome_word(reply.outcome.as_deref())).or_default() += 1;
                self.late += u64::from(reply.sent_at.saturating_duration_since(due) > LATE);
            }
            Err(error) => *self.failures.entry(error.word()).or_default() += 1,
        }
    }
}

/// Only known words reach the report: a header is somebody else's text.
fn outcome_word(header: Option<&str>) -> &'static str {
    match header {
        Some("absent") => "absent",
        Some(text) => Outcome::from_label(text).map_or(NO_OUTCOME, Outcome::label),
        None => NO_OUTCOME,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p2_only_known_outcomes_are_reported() {
        assert_eq!(outcome_word(Some("coalesced")), "coalesced");
        assert_eq!(outcome_word(Some("\u{1b}[2J")), "none");
        assert_eq!(outcome_word(None), "none");
    }

    #[tokio::test(start_paused = true)]
    async fn latency_counts_from_when_a_request_was_due() {
        let mut record = Record::default();
        let due = Instant::now();
        tokio::time::advance(Duration::from_millis(300)).await;
        let reply = Reply {
            status: 200,
            outcome: Some("hit".to_owned()),
            body: hyper::body::Bytes::new(),
            sent_at: Instant::now(),
        };
        record.ended(Class::Hot, due, &Ok(reply));
        record.ended(Class::Other, due, &Err(AskError::Timeout(Duration::from_secs(1))));
        assert_eq!(record.late, 1);
        assert_eq!((record.hot.len(), record.all.len()), (1, 2));
        assert!((299_700..=300_300).contains(&record.hot.max()), "{}", record.hot.max());
        assert_eq!(record.failures, BTreeMap::from([("timeout", 1)]));
        assert_eq!(record.by_status, BTreeMap::from([(200, 1)]));
    }
}
