//! Spans and the subscribers that they are of.
//!
//! Each thread, or task, may have a default subscriber of its own, and a span's number means nothing to another one than
//! its own. A registry closes the parents of a span by the thread's default. So a traced flight's task runs under
//! the subscriber that it began under, its spans end under that, and what another one knows is not linked to. A
//! process with one global subscriber pays nothing for it: that is looked at first.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tracing::Span;
use tracing::dispatcher::{self, Dispatch};
use tracing::subscriber::NoSubscriber;

use super::log::Log;
use crate::contained::contained;
use crate::sync::runtime::Handle;

/// Whose subscriber is the thread's, from a span's point of view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Here {
    /// The span's own: there is only one that is global.
    Own,
    /// Another one, or the same one set for this thread.
    Another,
    /// None at all; or a subscriber is being told of something on this thread, which looks the same.
    Nobody,
}

/// What is set for the process. There is no such question in `tracing`; only the text tells.
fn is_global(subscriber: &Dispatch) -> bool {
    format!("{subscriber:?}").contains("Global")
}

fn here(own: &Dispatch) -> Here {
    let global = is_global(own);
    dispatcher::get_default(|current| match () {
        () if current.is::<NoSubscriber>() => Here::Nobody,
        () if global && is_global(current) => Here::Own,
        () => Here::Another,
    })
}

fn own(span: &Span) -> Option<Dispatch> {
    span.with_subscriber(|(_, own)| own.clone())
}

/// Makes a child of `parent` with its subscriber.
pub(super) fn within(parent: &Span, make: impl FnOnce() -> Span) -> Span {
    match own(parent) {
        Some(own) if here(&own) == Here::Another => dispatcher::with_default(&own, make),
        Some(_) | None => make(),
    }
}

/// Lets go of a span so that its parents may close.
pub(super) fn close(span: Span) {
    let Some(own) = own(&span) else { return };
    match (here(&own), Handle::try_current()) {
        (Here::Another, _) => dispatcher::with_default(&own, || drop(span)),
        // Within a call of a subscriber no other default can be set: the runtime does it at its next turn.
        (Here::Nobody, Ok(runtime)) => {
            drop(runtime.spawn(async move { dispatcher::with_default(&own, || drop(span)) }));
        }
        (Here::Own | Here::Nobody, _) => drop(span),
    }
}

/// Whether both are of one subscriber, as far as that can be told: one that does not say which span is current could be any.
///
/// `idle`, which is not current here, is entered: if that makes it current for the subscriber of `other`, it is the same.
pub(super) fn are_of_one(idle: &Span, other: &Span) -> bool {
    let (Some(mine), Some(others)) = (own(idle), own(other)) else { return false };
    if is_global(&mine) && is_global(&others) {
        return true;
    }
    let current = |of: &Dispatch| {
        let current = of.current_span();
        current.is_known().then(|| current.id().cloned())
    };
    let before = current(&others);
    match visit(idle, || (current(&mine), current(&others))) {
        None => false,
        Some((None, None)) => true,
        Some((_, during)) => during == Some(idle.id()) && before != during,
    }
}

/// A span that may have been visited ends now: bridges take the last exit for the end.
pub(super) fn end(span: &Span) {
    if own(span).is_some_and(|own| !is_global(&own)) {
        visit(span, || ());
    }
}

thread_local! {
    static VISITING: Cell<bool> = const { Cell::new(false) };
}

/// Enters a span, runs this, and leaves it; `None` if a subscriber panics.
fn visit<T>(span: &Span, run: impl FnOnce() -> T) -> Option<T> {
    let before = VISITING.replace(true);
    let done = contained(|| {
        span.with_subscriber(|(id, own)| own.enter(id));
        run()
    });
    contained(|| span.with_subscriber(|(id, own)| own.exit(id)));
    VISITING.set(before);
    done
}

/// Whether a subscriber is being told of a visit on this thread: what it asks a cache meanwhile is not to be told again.
pub(super) fn is_visiting() -> bool {
    VISITING.get()
}

/// Takes a flight's task to whatever thread with the subscriber that the flight began under.
pub(crate) struct Carrier(Dispatch);

impl Carrier {
    /// That of the first of these flights that has a span; `None` if that is what every thread has.
    pub(crate) fn of<'a>(mut logs: impl Iterator<Item = &'a Log>) -> Option<Self> {
        let own = own(logs.find_map(Log::lit)?.span())?;
        (!is_global(&own)).then_some(Self(own))
    }

    pub(crate) fn carry<F: Future<Output = ()> + Send>(self, task: F) -> impl Future<Output = ()> + Send {
        Carried { subscriber: self.0, task: Some(Box::pin(task)) }
    }
}

struct Carried<F> {
    subscriber: Dispatch,
    /// Until it is dropped.
    task: Option<Pin<Box<F>>>,
}

impl<F: Future<Output = ()>> Future for Carried<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Self { subscriber, task } = self.get_mut();
        match task {
            Some(task) => dispatcher::with_default(subscriber, || task.as_mut().poll(cx)),
            None => Poll::Ready(()),
        }
    }
}

impl<F> Drop for Carried<F> {
    fn drop(&mut self) {
        let task = self.task.take();
        dispatcher::with_default(&self.subscriber, || drop(task));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text tells what is set for the process from what is not.
    #[test]
    fn a_subscriber_of_a_thread_is_not_taken_for_the_global_one() {
        assert!(is_global(&Dispatch::none()));
        assert!(!is_global(&Dispatch::new(NoSubscriber::default())));
    }
}
