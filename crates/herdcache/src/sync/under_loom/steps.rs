//! tokio's channel and notification, each of whose calls is one step that loom decides about.
//!
//! What happens within a call is tokio's and not tried; what happens before and after
//! it is. Without the steps loom would take a call and whatever comes before it for one.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use loom::sync::atomic::{AtomicUsize, Ordering::AcqRel};

/// Where calls of one object meet.
#[derive(Debug)]
struct Step(AtomicUsize);

impl Step {
    fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    fn take(&self) {
        self.0.fetch_add(1, AcqRel);
    }
}

#[derive(Debug)]
pub(crate) struct Notify {
    real: tokio::sync::Notify,
    step: Step,
}

impl Default for Notify {
    fn default() -> Self {
        Self::new()
    }
}

impl Notify {
    pub(crate) fn new() -> Self {
        Self { real: tokio::sync::Notify::new(), step: Step::new() }
    }

    pub(crate) fn notify_one(&self) {
        self.step.take();
        self.real.notify_one();
    }

    pub(crate) fn notify_waiters(&self) {
        self.step.take();
        self.real.notify_waiters();
    }

    pub(crate) fn notified(&self) -> tokio::sync::futures::Notified<'_> {
        self.step.take();
        self.real.notified()
    }
}

pub(crate) mod oneshot {
    use std::sync::Arc;

    use super::{Context, Future, Pin, Poll, Step};

    pub(crate) struct Sender<T>(tokio::sync::oneshot::Sender<T>, Arc<Step>);

    /// Dropped, it closes the channel: that is a step too.
    pub(crate) struct Receiver<T>(tokio::sync::oneshot::Receiver<T>, Arc<Step>);

    pub(crate) fn channel<T>() -> (Sender<T>, Receiver<T>) {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let step = Arc::new(Step::new());
        (Sender(sender, Arc::clone(&step)), Receiver(receiver, step))
    }

    impl<T> Sender<T> {
        pub(crate) fn send(self, value: T) -> Result<(), T> {
            self.1.take();
            self.0.send(value)
        }
    }

    impl<T> Receiver<T> {
        pub(crate) fn close(&mut self) {
            self.1.take();
            self.0.close();
        }

        pub(crate) fn try_recv(&mut self) -> Result<T, tokio::sync::oneshot::error::TryRecvError> {
            self.1.take();
            self.0.try_recv()
        }
    }

    impl<T> Future for Receiver<T> {
        type Output = Result<T, tokio::sync::oneshot::error::RecvError>;

        fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
            self.1.take();
            Pin::new(&mut self.0).poll(cx)
        }
    }

    impl<T> Drop for Receiver<T> {
        fn drop(&mut self) {
            self.1.take();
        }
    }
}
