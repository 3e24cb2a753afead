//! A caller: the future of one read, polled by hand, and the waker that tells when it wants to be.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, Wake, Waker};

use herdcache::Got;
use tokio::sync::Notify;

use super::load::{Down, Row};

/// One read on its way.
pub(super) type Asking = Pin<Box<dyn Future<Output = Got<Row, Down>>>>;

/// A caller that has no answer yet.
pub(super) struct Caller {
    pub(super) tag: usize,
    asking: Asking,
    bell: Arc<Bell>,
}

/// A caller's waker.
struct Bell {
    rung: AtomicBool,
    told: Arc<Notify>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.rung.store(true, Relaxed);
        self.told.notify_one();
    }
}

impl Caller {
    pub(super) fn new(tag: usize, asking: Asking, told: &Arc<Notify>) -> Self {
        Self { tag, asking, bell: Arc::new(Bell { rung: AtomicBool::new(false), told: Arc::clone(told) }) }
    }

    /// Whether it was woken since its last poll.
    pub(super) fn is_woken(&self) -> bool {
        self.bell.rung.load(Relaxed)
    }

    pub(super) fn poll(&mut self) -> Poll<Got<Row, Down>> {
        self.bell.rung.store(false, Relaxed);
        let waker = Waker::from(Arc::clone(&self.bell));
        self.asking.as_mut().poll(&mut Context::from_waker(&waker))
    }
}
