//! One request that went past the hit path: it ends under exactly one outcome.

use std::time::Duration;

use herdfeed::Outcome;

use crate::account::Account;
use crate::clock::{self, Moment};
use crate::recorder;

/// L1: counts its end once, also when it is dropped (`cancelled`).
pub(crate) struct Request<'a> {
    account: &'a Account,
    /// When it began; 0 until it waits, if nobody is told how long it takes.
    began: Moment,
    /// How long it has waited for flights; 0 if for none. While it waits, the moment from which on that much has passed.
    wait: u64,
}

impl<'a> Request<'a> {
    /// The request begins.
    pub(crate) fn begin(account: &'a Account) -> Self {
        account.begin();
        Self { account, began: if recorder::is_any() { clock::exact() } else { 0 }, wait: 0 }
    }

    /// It waits for a flight from now on; gives when it began.
    pub(crate) fn wait_begins(&mut self, now: Moment) -> Moment {
        self.wait = now.saturating_sub(self.wait);
        if self.began == 0 {
            self.began = now;
        }
        self.began
    }

    /// Its wait has ended.
    pub(crate) fn wait_ends(&mut self, now: Moment) {
        self.wait = now.saturating_sub(self.wait).max(1);
        self.account.wait_ends(self.wait);
    }

    /// How long it has waited for flights, once its wait has ended.
    pub(crate) fn waited(&self) -> Duration {
        Duration::from_nanos(self.wait)
    }

    /// The request ends.
    pub(crate) fn end(self, outcome: Outcome) {
        self.count(outcome);
        // It has ended; its drop must not count a second end.
        std::mem::forget(self);
    }

    fn count(&self, outcome: Outcome) {
        let took = || (clock::exact().saturating_sub(self.began), (self.wait > 0).then_some(self.wait));
        self.account.end(outcome, (self.began > 0 && recorder::is_any()).then(took));
    }
}

impl Drop for Request<'_> {
    fn drop(&mut self) {
        self.count(Outcome::Cancelled);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// L1: one end each, whichever way.
    #[test]
    fn l1_a_request_ends_once() {
        let account = Account::new("c", &[]);
        Request::begin(&account).end(Outcome::Loaded);
        drop(Request::begin(&account));
        let (begun, outcomes) = account.requests();
        assert_eq!((begun, outcomes[Outcome::Loaded], outcomes[Outcome::Cancelled]), (2, 1, 1));
    }
}
