//! One request that went past the hit path: it ends under exactly one outcome.

use herdfeed::Outcome;

use crate::account::Account;

/// L1: counts its end once, also when it is dropped (`cancelled`).
pub(crate) struct Request<'a>(&'a Account);

impl<'a> Request<'a> {
    /// The request begins.
    pub(crate) fn begin(account: &'a Account) -> Self {
        account.begin();
        Self(account)
    }

    /// The request ends.
    pub(crate) fn end(self, outcome: Outcome) {
        self.0.end(outcome);
        // It has ended; its drop must not count a second end.
        std::mem::forget(self);
    }
}

impl Drop for Request<'_> {
    fn drop(&mut self) {
        self.0.end(Outcome::Cancelled);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// L1: one end each, whichever way.
    #[test]
    fn l1_a_request_ends_once() {
        let account = Account::new();
        Request::begin(&account).end(Outcome::Loaded);
        drop(Request::begin(&account));
        let (begun, outcomes) = account.requests();
        assert_eq!((begun, outcomes[Outcome::Loaded], outcomes[Outcome::Cancelled]), (2, 1, 1));
    }
}
