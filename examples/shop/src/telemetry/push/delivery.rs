//! What became of what was to be sent: counted, and told as it changes.
//!
//! An SDK that cannot send is silent unless its own logs are switched on. Here each signal has an account: what was handed
//! over, what a collector has taken, and one line on the error stream when sending begins to fail and when it works again.

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::telemetry::Delivered;

/// The account of one signal.
#[derive(Debug)]
pub(super) struct Delivery {
    what: &'static str,
    handed_over: AtomicU64,
    taken: AtomicU64,
    failing: AtomicBool,
    /// Whether an attempt is under way.
    trying: AtomicBool,
    /// Whether the account has been drawn up: what an attempt that is left behind comes to is nobody's news.
    closed: AtomicBool,
}

impl Delivery {
    pub(super) fn of(what: &'static str) -> Self {
        Self {
            what,
            handed_over: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            failing: AtomicBool::new(false),
            trying: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        }
    }

    /// So many are to be sent.
    pub(super) fn hand_over(&self, count: u64) {
        self.handed_over.fetch_add(count, Relaxed);
    }

    /// An attempt to send begins.
    pub(super) fn attempt(&self) {
        self.trying.store(true, Relaxed);
    }

    /// An attempt to send so many has ended.
    pub(super) fn attempted<E: fmt::Display>(&self, count: u64, ended: &Result<(), E>) {
        if let Some(news) = self.news(count, ended) {
            // Nothing can be done where even the error stream is closed.
            let _ = writeln!(io::stderr(), "{news}");
        }
    }

    /// Enters an attempt into the account, and says what is new about it.
    fn news<E: fmt::Display>(&self, count: u64, ended: &Result<(), E>) -> Option<String> {
        self.trying.store(false, Relaxed);
        if ended.is_ok() {
            self.taken.fetch_add(count, Relaxed);
        }
        let was = self.failing.swap(ended.is_err(), Relaxed);
        if was == ended.is_err() || self.closed.load(Relaxed) {
            return None;
        }
        Some(match ended {
            Ok(()) => format!("shop: {} are sent again", self.what),
            Err(error) => format!("shop: {} cannot be sent, requests go on: {error}", self.what),
        })
    }

    /// Draws up the account: nothing is told any more.
    pub(super) fn close(&self) -> Delivered {
        self.closed.store(true, Relaxed);
        let taken = self.taken.load(Relaxed);
        let failing = self.failing.load(Relaxed) || self.trying.load(Relaxed);
        Delivered { handed_over: self.handed_over.load(Relaxed), taken, failing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_are_news_and_none_after_the_account() {
        let delivery = Delivery::of("spans");
        delivery.hand_over(6);
        let attempt = |ended: Result<(), &str>| {
            delivery.attempt();
            delivery.news(1, &ended)
        };
        assert_eq!(attempt(Ok(())), None);
        assert_eq!(attempt(Err("refused")).unwrap(), "shop: spans cannot be sent, requests go on: refused");
        assert_eq!(attempt(Err("refused")), None);
        assert_eq!(attempt(Ok(())).unwrap(), "shop: spans are sent again");
        delivery.attempt();
        let sent = delivery.close();
        assert_eq!(sent, Delivered { handed_over: 6, taken: 2, failing: true }, "one attempt is under way");
        assert_eq!(sent.lost(), 4);
        assert_eq!(delivery.news(1, &Err("late")), None, "nobody's news");
    }
}
