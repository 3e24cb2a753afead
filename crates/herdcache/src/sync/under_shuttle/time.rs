//! Time that stands still until a model moves it.
//!
//! Every limit of the engine is asked of one clock, so moving that clock is what
//! triggers a timeout: whatever is due then is woken, in whatever order the
//! scheduler likes, and whatever is not due is not. One clock per thread of the
//! machine, since a model with all its tasks runs on one.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

thread_local! {
    static NOW: Cell<Duration> = const { Cell::new(START) };
    static SLEEPERS: RefCell<Sleepers> = const { RefCell::new(Sleepers { next: 0, wakers: BTreeMap::new() }) };
}

/// Not zero, so that a moment before the first exists.
const START: Duration = Duration::from_secs(1_000);

/// Who waits for which moment; numbered, since several may wait for one.
struct Sleepers {
    next: u64,
    wakers: BTreeMap<(Duration, u64), Waker>,
}

/// A moment on the model's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Instant(Duration);

impl Instant {
    pub(crate) fn now() -> Self {
        Self(NOW.get())
    }

    pub(crate) fn saturating_duration_since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// Sets the clock back; before each run of a model.
pub(crate) fn reset() {
    NOW.set(START);
    SLEEPERS.with_borrow_mut(|sleepers| *sleepers = Sleepers { next: 0, wakers: BTreeMap::new() });
}

/// Moves the clock, and wakes everyone who is due.
pub(crate) fn advance(by: Duration) {
    NOW.set(NOW.get() + by);
    let due = SLEEPERS.with_borrow_mut(|sleepers| {
        let later = sleepers.wakers.split_off(&(NOW.get() + Duration::from_nanos(1), 0));
        std::mem::replace(&mut sleepers.wakers, later)
    });
    due.into_values().for_each(Waker::wake);
    // What was woken may go on now, or later.
    shuttle::thread::yield_now();
}

/// Waits until the clock has been moved this far.
pub(crate) struct Sleep {
    until: Duration,
    /// Its number among the sleepers, once it has one.
    number: Option<u64>,
}

pub(crate) fn sleep(duration: Duration) -> Sleep {
    Sleep { until: NOW.get().saturating_add(duration), number: None }
}

impl Sleep {
    fn wake_up(&mut self) {
        if let Some(number) = self.number.take() {
            // At the end of a thread the list may be gone.
            let _ = SLEEPERS.try_with(|sleepers| sleepers.borrow_mut().wakers.remove(&(self.until, number)));
        }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.wake_up();
        if NOW.get() >= self.until {
            return Poll::Ready(());
        }
        let until = self.until;
        self.number = Some(SLEEPERS.with_borrow_mut(|sleepers| {
            sleepers.next += 1;
            sleepers.wakers.insert((until, sleepers.next), cx.waker().clone());
            sleepers.next
        }));
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.wake_up();
    }
}

/// The limit passed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Elapsed;

/// Waits for `work`, at most `limit`.
///
/// # Errors
/// The limit passed, and the work is not done.
pub(crate) async fn timeout<F: Future>(limit: Duration, work: F) -> Result<F::Output, Elapsed> {
    let (mut work, mut limit) = (pin!(work), pin!(sleep(limit)));
    std::future::poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(done) => Poll::Ready(Ok(done)),
        Poll::Pending => limit.as_mut().poll(cx).map(|()| Err(Elapsed)),
    })
    .await
}
