//! One origin call: its permit, its limit, and who called it.
//!
//! A call has parts: the load itself, and each piece of blocking work that it
//! started. The permit comes back when the last part has ended.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use herdfeed::{ClosedSet, OriginResult};

use super::loan::Loan;
use crate::account::{Account, Unlimited};
use crate::clock::{self, Moment, nanos};
use crate::contained::contained;
use crate::gate::Permit;
use crate::sync::atomic::Ordering::{AcqRel, Relaxed};
use crate::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64};
use crate::sync::{Mutex, Notify, OnceLock, thread_local};

/// Loads polled in place, one within the other, before the next is spawned instead.
const IN_PLACE_DEPTH: u32 = 4;

/// Loads within loads, at most: a loader that asks for ever new keys ends there, not at the end of its stack.
const DEEPEST: u32 = 64;

/// One call to the origin.
pub(crate) struct Call {
    /// The gate that it passed.
    pub(super) gate: usize,
    /// The call whose loader asked for this one.
    pub(super) parent: Option<Arc<Call>>,
    /// How many calls are above it.
    depth: u32,
    /// S5: a call whose loader waits for this one although it did not ask for it first.
    pub(super) patron: OnceLock<Arc<Call>>,
    /// Told when a permit that was lent comes back, and when a patron comes.
    pub(super) news: Notify,
    account: Arc<Account>,
    deadline: AtomicU64,
    started: AtomicU64,
    parts: AtomicU32,
    /// What the loader reported of its wait for a connection, in nanoseconds + 1; 0 while it has not.
    connection: AtomicU64,
    /// `OriginResult` + 1; 0 while unknown.
    result: AtomicU8,
    /// The class of its error + 1; 0 if it has none.
    class: AtomicU8,
    state: Mutex<State>,
    /// S5: whether a load within this one runs under its permit now.
    pub(super) lent: AtomicBool,
    /// What waits for the last part to end.
    after: Mutex<Vec<Box<dyn FnOnce() + Send>>>,
}

/// How far a call has come.
enum State {
    Waiting,
    Running(Ticket),
    /// S7: its flight has ended without it.
    Abandoned(Ticket),
    Over,
}

/// What lets a call through.
pub(crate) enum Ticket {
    /// A permit of its own.
    Permit { permit: Permit },
    /// S5: the permit of the call whose loader asked for this one.
    Parent { _loan: Loan },
    /// Permits are switched off; counted where one would have been needed.
    Free(Option<Unlimited>),
}

impl Ticket {
    /// There will be no call.
    pub(crate) fn unused(self) {
        match self {
            Self::Permit { permit } => permit.unused(),
            Self::Parent { .. } | Self::Free(_) => {}
        }
    }
}

/// A part of a call; the call ends when its last part is dropped.
pub(crate) struct Part(pub(super) Arc<Call>);

impl Call {
    pub(crate) fn new(gate: usize, account: &Arc<Account>, deadline: Moment, parent: Option<Arc<Call>>) -> Arc<Self> {
        Arc::new(Self {
            gate,
            depth: parent.as_ref().map_or(0, |parent| parent.depth + 1),
            patron: OnceLock::new(),
            news: Notify::new(),
            parent,
            account: Arc::clone(account),
            deadline: AtomicU64::new(deadline),
            started: AtomicU64::new(0),
            parts: AtomicU32::new(0),
            connection: AtomicU64::new(0),
            result: AtomicU8::new(0),
            class: AtomicU8::new(0),
            state: Mutex::new(State::Waiting),
            lent: AtomicBool::new(false),
            after: Mutex::new(Vec::new()),
        })
    }

    /// The call begins: counted, under its ticket, to be over at `deadline`.
    pub(crate) fn begin(self: &Arc<Self>, ticket: Ticket, now: Moment, deadline: Moment) -> Part {
        self.deadline.store(deadline, Relaxed);
        self.started.store(now, Relaxed);
        *self.state.lock() = State::Running(ticket);
        self.account.call_begins(now);
        Part::of(self)
    }

    /// Has `work` done when the last part has ended; false, without making it, if the call is over or never began.
    pub(crate) fn after_end(&self, work: impl FnOnce() -> Box<dyn FnOnce() + Send>) -> bool {
        let state = self.state.lock();
        match *state {
            State::Waiting | State::Over => false,
            State::Running(_) | State::Abandoned(_) => {
                self.after.lock().push(work());
                true
            }
        }
    }

    pub(crate) fn deadline(&self) -> Moment {
        self.deadline.load(Relaxed)
    }

    /// When it began.
    pub(crate) fn started(&self) -> Moment {
        self.started.load(Relaxed)
    }

    pub(crate) fn connection_waited(&self, waited: Duration) {
        self.account.connection_waited(waited);
        let sum = |before: u64| Some(before.max(1).saturating_add(nanos(waited)));
        let _ = self.connection.fetch_update(Relaxed, Relaxed, sum);
    }

    /// The call ended with an error of this class.
    pub(crate) fn failed(&self, class: usize) {
        self.class.store(u8::try_from(class + 1).unwrap_or(0), Relaxed);
        self.ended(OriginResult::Error);
    }

    /// How the call ended, to be counted when its last part has. The first word stays.
    pub(crate) fn ended(&self, result: OriginResult) {
        let code = u8::try_from(result.index() + 1).unwrap_or(0);
        if self.result.compare_exchange(0, code, Relaxed, Relaxed).is_err() {
            return;
        }
        // G5: the gate learns of it now, not when the last part has ended. Told outside the lock: it may wake others.
        let report = match &*self.state.lock() {
            State::Running(Ticket::Permit { permit }) => permit.report(),
            State::Running(Ticket::Parent { .. } | Ticket::Free(_))
            | State::Waiting
            | State::Abandoned(_)
            | State::Over => None,
        };
        if let Some(report) = report {
            report.load_ended(result);
        }
    }

    /// S7: the flight has ended without this call, which may still run.
    pub(crate) fn abandon(&self) {
        let mut state = self.state.lock();
        *state = match std::mem::replace(&mut *state, State::Over) {
            State::Running(ticket) => {
                self.account.origin_abandoned.fetch_add(1, Relaxed);
                State::Abandoned(ticket)
            }
            other => other,
        };
    }

    /// The last part has ended.
    fn end(&self) {
        let state = std::mem::replace(&mut *self.state.lock(), State::Over);
        let ticket = match state {
            State::Running(ticket) => ticket,
            State::Abandoned(ticket) => {
                self.account.origin_abandoned.fetch_sub(1, Relaxed);
                ticket
            }
            // Blocking work that a loader started before its load began is not an origin call.
            State::Waiting | State::Over => return,
        };
        let code = usize::from(self.result.load(Relaxed));
        // E2: a call that was dropped without a word was given up (its runtime ended, or its cache was shut down), which
        // is no failure of the origin.
        let result = OriginResult::all().get(code.wrapping_sub(1)).copied().unwrap_or(OriginResult::Abandoned);
        let took = clock::exact().saturating_sub(self.started.load(Relaxed));
        let connection = self.connection.load(Relaxed).checked_sub(1).map(Duration::from_nanos);
        if result == OriginResult::Error {
            self.account.origin_errors.add(usize::from(self.class.load(Relaxed)).checked_sub(1));
        }
        self.account.call_ends(result, took, connection);
        drop(ticket);
        let after = std::mem::take(&mut *self.after.lock());
        for work in after {
            // B1: one key's Drop that panics must not keep the others of its batch in the table.
            let _ = contained(work);
        }
    }

    /// Whether it is this call, or one above it.
    fn is_under(&self, other: &Arc<Self>) -> bool {
        let mut call = Some(self);
        while let Some(this) = call {
            if std::ptr::eq(this, Arc::as_ptr(other)) {
                return true;
            }
            call = this.parent.as_deref();
        }
        false
    }

    /// Whether the loader of another call asked for this one.
    pub(crate) fn has_parent(&self) -> bool {
        self.parent.is_some()
    }

    /// S5: whether it is nested deeper than loads may be.
    pub(crate) fn is_too_deep(&self) -> bool {
        self.depth > DEEPEST
    }
}

impl Part {
    pub(crate) fn of(call: &Arc<Call>) -> Self {
        call.parts.fetch_add(1, Relaxed);
        Self(Arc::clone(call))
    }

    /// A part of a call that has not ended.
    pub(super) fn of_running(call: &Arc<Call>) -> Option<Self> {
        call.parts.fetch_update(Relaxed, Relaxed, |parts| (parts > 0).then_some(parts + 1)).ok()?;
        Some(Self(Arc::clone(call)))
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if self.0.parts.fetch_sub(1, AcqRel) == 1 {
            self.0.end();
        }
    }
}

thread_local! {
    /// The call whose loader this thread is polling.
    static CURRENT: RefCell<Option<Arc<Call>>> = const { RefCell::new(None) };
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// The call whose loader this thread is polling, if any.
pub(crate) fn current() -> Option<Arc<Call>> {
    CURRENT.with(|current| current.borrow().clone())
}

/// Whether this thread is polling a loader at all.
pub(crate) fn is_any() -> bool {
    CURRENT.with(|current| current.borrow().is_some())
}

/// S5: whether this thread is polling the loader of this very call, or of one within it.
pub(crate) fn is_within(call: &Arc<Call>) -> bool {
    CURRENT.with(|current| current.borrow().as_ref().is_some_and(|current| current.is_under(call)))
}

/// Whether a load may be polled in place here, or the stack is deep already.
pub(crate) fn may_poll_in_place() -> bool {
    DEPTH.with(Cell::get) < IN_PLACE_DEPTH
}

/// Marks this thread as polling the loader of `call` until dropped.
pub(crate) struct Within {
    before: Option<Arc<Call>>,
}

impl Within {
    pub(crate) fn enter(call: &Arc<Call>) -> Self {
        DEPTH.with(|depth| depth.set(depth.get() + 1));
        Self { before: CURRENT.with(|current| current.replace(Some(Arc::clone(call)))) }
    }
}

impl Drop for Within {
    fn drop(&mut self) {
        DEPTH.with(|depth| depth.set(depth.get() - 1));
        let call = CURRENT.with(|current| current.replace(self.before.take()));
        drop(call);
    }
}
