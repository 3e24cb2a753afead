//! A caller: the future of one read or of a batch, polled by hand, and the waker that tells when it wants to be.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, Wake, Waker};

use herdcache::{Got, Outcome};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::load::{Down, Row};

/// One read on its way, or several together.
pub(super) type Asking = Pin<Box<dyn Future<Output = Vec<Got<Row, Down>>>>>;

/// A caller that has no answer yet.
pub(super) struct Caller {
    /// One for each key.
    pub(super) asks: Vec<Ask>,
    /// When it last looked.
    pub(super) polled: Instant,
    asking: Asking,
    bell: Arc<Bell>,
}

/// One key that a caller asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask {
    /// The request's place in the record.
    pub(super) tag: usize,
    /// What a look showed just before.
    pub(super) before: Option<Outcome>,
}

/// The waker of what is polled by hand.
pub(super) struct Bell {
    rung: AtomicBool,
    told: Arc<Notify>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }
}

impl Bell {
    pub(super) fn new(told: &Arc<Notify>) -> Arc<Self> {
        Arc::new(Self { rung: AtomicBool::new(false), told: Arc::clone(told) })
    }

    pub(super) fn ring(&self) {
        self.rung.store(true, Relaxed);
        self.told.notify_one();
    }

    /// Whether it was rung since the last poll.
    pub(super) fn is_rung(&self) -> bool {
        self.rung.load(Relaxed)
    }

    pub(super) fn poll<T>(self: &Arc<Self>, asking: Pin<&mut (dyn Future<Output = T> + '_)>) -> Poll<T> {
        self.rung.store(false, Relaxed);
        let waker = Waker::from(Arc::clone(self));
        asking.poll(&mut Context::from_waker(&waker))
    }
}

impl Caller {
    pub(super) fn new(asks: Vec<Ask>, asking: Asking, told: &Arc<Notify>) -> Self {
        Self { asks, polled: Instant::now(), asking, bell: Bell::new(told) }
    }

    /// Whether it asked for several keys at once.
    pub(super) fn is_batch(&self) -> bool {
        self.asks.len() > 1
    }

    /// Whether it was woken since its last poll.
    pub(super) fn is_woken(&self) -> bool {
        self.bell.is_rung()
    }

    pub(super) fn poll(&mut self) -> Poll<Vec<Got<Row, Down>>> {
        self.polled = Instant::now();
        self.bell.poll(self.asking.as_mut())
    }
}
