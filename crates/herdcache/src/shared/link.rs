//! One operation on the tier or the lease: its limit, the circuit, the account.
//!
//! T4: an operation waits for the smaller of the operation timeout and what is left of its
//! flight. It knows nothing of flights and values.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use herdfeed::{CircuitState, ClosedSet, Event, LeaseSnapshot, SharedOperation, SharedSnapshot};

use super::account::SharedAccount;
use super::breaker::{Breaker, Breaking, Health, Role, Told};
use super::tier::{Lease, Operation, SharedTier, TierError};
use crate::clock::{self, Moment};
use crate::contained::contained;
use crate::recorder::{self, Measured};
use crate::sync::time;

/// Why an operation gave nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Timeout,
    Connection,
    Refused,
    /// It was not sent.
    BreakerOpen,
}

/// The way to a tier, and to its lease if there is one.
pub(crate) struct Link {
    subject: String,
    pub(crate) tier: Arc<dyn SharedTier>,
    pub(crate) lease: Option<Arc<dyn Lease>>,
    timeout: Duration,
    breaker: Breaker,
    pub(crate) account: SharedAccount,
}

impl Link {
    pub(super) fn new(
        subject: &str,
        (tier, lease): (Arc<dyn SharedTier>, Option<Arc<dyn Lease>>),
        timeout: Duration,
        breaking: Breaking,
    ) -> Self {
        let (breaker, account) = (Breaker::new(breaking), SharedAccount::new());
        Self { subject: subject.to_owned(), tier, lease, timeout, breaker, account }
    }

    fn told(&self) -> Told<'_> {
        Told { subject: &self.subject, transitions: &self.account.transitions }
    }

    /// Sends one operation and waits for its answer, `deadline` at most.
    ///
    /// `ask` is called if the circuit admits it, since an implementation may send as soon as it is asked. Dropped before
    /// its answer, it tells the circuit nothing.
    pub(crate) async fn send<'a, T>(
        &self,
        operation: SharedOperation,
        deadline: Moment,
        ask: impl FnOnce() -> Operation<'a, T>,
    ) -> Result<T, Fault> {
        let began = clock::exact();
        let role = self.breaker.admit(&self.told(), began).ok_or(Fault::BreakerOpen)?;
        let mut sent = Sent { link: self, operation, role, began, health: Health::Unknown };
        let left = Duration::from_nanos(deadline.saturating_sub(began));
        let result = match time::timeout(left.min(self.timeout), Caught::ask(ask)).await {
            Ok(result) => result,
            // Cut short by the flight, it is no fault of the tier.
            Err(_) if left < self.timeout => return Err(self.failed(operation, Fault::Timeout)),
            Err(_) => Err(TierError::Timeout),
        };
        sent.health = if result.is_ok() { Health::Good } else { Health::Bad };
        result.map_err(|error| {
            let fault = match error {
                TierError::Timeout => Fault::Timeout,
                TierError::Connection => Fault::Connection,
                TierError::Refused => Fault::Refused,
            };
            self.failed(operation, fault)
        })
    }

    fn failed(&self, operation: SharedOperation, fault: Fault) -> Fault {
        match fault {
            Fault::Timeout => self.account.timeouts.add(operation),
            Fault::Connection => self.account.connection_errors.add(operation),
            Fault::Refused => self.account.refusals.add(operation),
            Fault::BreakerOpen => {}
        }
        fault
    }

    /// When the tier may be asked next; `None` while it may be now.
    pub(crate) fn shut_until(&self) -> Option<Moment> {
        self.breaker.shut_until()
    }

    pub(crate) fn circuit(&self) -> CircuitState {
        self.breaker.circuit()
    }

    /// The outage, with its first figures.
    pub(crate) fn active(&self) -> Option<Event> {
        self.breaker.active()
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(super) fn breaking(&self) -> Breaking {
        self.breaker.settings()
    }

    pub(crate) fn snapshot(&self) -> (SharedSnapshot, Option<LeaseSnapshot>) {
        let shared = SharedSnapshot { circuit: Some(self.circuit()), ..self.account.shared() };
        (shared, self.lease.as_ref().map(|_| self.account.lease()))
    }
}

/// One operation that was sent. Dropped, it tells account and circuit how it ended.
struct Sent<'a> {
    link: &'a Link,
    operation: SharedOperation,
    role: Role,
    began: Moment,
    health: Health,
}

impl Drop for Sent<'_> {
    fn drop(&mut self) {
        let (link, now) = (self.link, clock::exact());
        let (operation, took) = (self.operation, now.saturating_sub(self.began));
        link.account.times[operation.index()].record(took);
        let took = Duration::from_nanos(took);
        recorder::tell(|| Measured::Shared { cache: &link.subject, operation, took });
        link.breaker.ended(&link.told(), self.operation, (self.role, self.health), (self.began, now));
    }
}

/// An operation whose panics are a broken connection, also where it is made or dropped: the implementation is not ours.
struct Caught<'a, T>(Option<Operation<'a, T>>);

impl<'a, T> Caught<'a, T> {
    fn ask(ask: impl FnOnce() -> Operation<'a, T>) -> Self {
        Self(contained(ask))
    }
}

impl<T> Future for Caught<'_, T> {
    type Output = Result<T, TierError>;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(operation) = &mut self.0 else { return Poll::Ready(Err(TierError::Connection)) };
        contained(|| operation.as_mut().poll(cx)).unwrap_or(Poll::Ready(Err(TierError::Connection)))
    }
}

impl<T> Drop for Caught<'_, T> {
    fn drop(&mut self) {
        let operation = self.0.take();
        let _ = contained(|| drop(operation));
    }
}

/// The deadline of an operation that belongs to no flight: its own timeout is what limits it, and counts against the tier.
pub(crate) const NO_DEADLINE: Moment = Moment::MAX;
