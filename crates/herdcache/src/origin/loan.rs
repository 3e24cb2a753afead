//! S5: a permit that is lent: to a load within the one that holds it, or to one that its loader waits for.
//!
//! L3: to one load at a time. Who needs it next waits for it and for a permit of the gate, whichever comes first.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use herdfeed::RejectReason;

use super::call::{Call, Part, Ticket};
use crate::gate::Permit;
use crate::sync::atomic::Ordering::Relaxed;

/// A call's permit, lent until dropped.
pub(crate) struct Loan(Part);

impl Loan {
    fn of(call: &Arc<Call>) -> Option<Self> {
        if call.lent.swap(true, Relaxed) {
            return None;
        }
        let part = Part::of_running(call);
        if part.is_none() {
            call.lent.store(false, Relaxed);
        }
        part.map(Self)
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        let call = &self.0.0;
        call.lent.store(false, Relaxed);
        call.news.notify_waiters();
    }
}

impl Call {
    /// S5: a ticket from a call of the same gate whose loader waits for this one: the nearest above, or a patron.
    ///
    /// L3: a permit is lent to one load at a time. A loader that runs several at once lends it to one after another.
    pub(crate) fn parents_ticket(&self) -> Option<Ticket> {
        self.lenders().find_map(Loan::of).map(|loan| Ticket::Parent { _loan: loan })
    }

    fn lenders(&self) -> impl Iterator<Item = &Arc<Call>> {
        self.above().into_iter().chain(self.patron.get().filter(|patron| patron.gate == self.gate))
    }

    /// The nearest call above this one that passed the same gate.
    fn above(&self) -> Option<&Arc<Call>> {
        let mut above = self.parent.as_ref();
        while let Some(call) = above {
            if call.gate == self.gate {
                return Some(call);
            }
            above = call.parent.as_ref();
        }
        None
    }

    /// S5: whether a call above this one passed the same gate.
    pub(crate) fn is_nested(&self) -> bool {
        self.above().is_some()
    }

    /// S5: the loader of `patron` waits for this call too, and lends it its permit if they are of one gate.
    pub(crate) fn take_patron(&self, patron: Arc<Call>) {
        if self.patron.set(patron).is_ok() {
            self.news.notify_waiters();
        }
    }

    /// S5: waits for `permit`, or for a permit that another call lends, whichever comes first.
    pub(crate) async fn let_through(
        &self,
        permit: impl Future<Output = Result<Permit, RejectReason>>,
    ) -> Result<Ticket, RejectReason> {
        let mut permit = pin!(permit);
        loop {
            // A permit that comes back, and a patron that comes. Enabled before the look, so that none is missed.
            let lenders = self.lenders().map(|lender| &lender.news);
            let mut news: Vec<_> = lenders.chain([&self.news]).map(|news| Box::pin(news.notified())).collect();
            for news in &mut news {
                news.as_mut().enable();
            }
            if let Some(ticket) = self.parents_ticket() {
                return Ok(ticket);
            }
            let come = poll_fn(|cx| {
                if let Poll::Ready(permit) = permit.as_mut().poll(cx) {
                    return Poll::Ready(Some(permit));
                }
                let told = news.iter_mut().any(|news| news.as_mut().poll(cx).is_ready());
                if told { Poll::Ready(None) } else { Poll::Pending }
            });
            if let Some(permit) = come.await {
                return permit.map(|permit| Ticket::Permit { permit });
            }
        }
    }
}
