//! A subscriber that writes down everything it is told.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{DefaultGuard, Interest, Subscriber};
use tracing::{Dispatch, Event, Metadata};

/// One span, as it was told.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) id: u64,
    pub(crate) name: &'static str,
    pub(crate) target: &'static str,
    pub(crate) parent: Option<u64>,
    pub(crate) fields: BTreeMap<&'static str, String>,
    pub(crate) follows: Vec<u64>,
    handles: usize,
}

impl Told {
    pub(crate) fn is_open(&self) -> bool {
        self.handles > 0
    }

    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(String::as_str)
    }
}

#[derive(Default)]
struct Pages {
    spans: Vec<Told>,
    events: Vec<(String, BTreeMap<&'static str, String>)>,
    /// By thread, in the order in which they were entered.
    entered: HashMap<ThreadId, Vec<u64>>,
}

impl Pages {
    fn here(&mut self) -> &mut Vec<u64> {
        self.entered.entry(thread::current().id()).or_default()
    }
}

#[derive(Clone, Default)]
pub(crate) struct Book(Arc<Mutex<Pages>>);

impl Book {
    /// A book that is written on this thread from now on.
    pub(crate) fn open() -> (Self, DefaultGuard) {
        let book = Self::default();
        let guard = tracing::dispatcher::set_default(&Dispatch::new(book.clone()));
        (book, guard)
    }

    fn pages<T>(&self, read: impl FnOnce(&mut Pages) -> T) -> T {
        read(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn spans(&self) -> Vec<Told> {
        self.pages(|pages| pages.spans.clone())
    }

    /// Spans of this name, in the order in which they began.
    pub(crate) fn named(&self, name: &str) -> Vec<Told> {
        self.spans().into_iter().filter(|span| span.name == name).collect()
    }

    pub(crate) fn flights(&self) -> Vec<Told> {
        self.named("herdcache.flight")
    }

    pub(crate) fn waits(&self) -> Vec<Told> {
        self.named("herdcache.wait")
    }

    /// Names of the children of a span.
    pub(crate) fn children(&self, of: &Told) -> Vec<&'static str> {
        self.spans().iter().filter(|span| span.parent == Some(of.id)).map(|span| span.name).collect()
    }

    /// Everything that was told, as text.
    pub(crate) fn text(&self) -> String {
        self.pages(|pages| format!("{:?}{:?}", pages.spans, pages.events))
    }

    /// Spans of ours that have not ended, and spans that are entered.
    pub(crate) fn left_open(&self) -> Vec<&'static str> {
        self.pages(|pages| {
            let open = pages.spans.iter().filter(|span| span.target == "herdcache" && span.is_open());
            let entered = pages.entered.values().flatten().map(|_| "entered");
            open.map(|span| span.name).chain(entered).collect()
        })
    }
}

struct Fields<'a>(&'a mut BTreeMap<&'static str, String>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

impl Subscriber for Book {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        // Each thread of the tests has a subscriber of its own, and some have none.
        Interest::sometimes()
    }

    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut fields = BTreeMap::new();
        attributes.record(&mut Fields(&mut fields));
        self.pages(|pages| {
            let current = pages.here().last().copied();
            let parent = attributes.parent().map(Id::into_u64).or(current.filter(|_| attributes.is_contextual()));
            let id = pages.spans.len() as u64 + 1;
            let (name, target) = (attributes.metadata().name(), attributes.metadata().target());
            pages.spans.push(Told { id, name, target, parent, fields, follows: Vec::new(), handles: 1 });
            Id::from_u64(id)
        })
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        self.change(span, |told| values.record(&mut Fields(&mut told.fields)));
    }

    fn record_follows_from(&self, span: &Id, follows: &Id) {
        let open = self.pages(|pages| place(pages, follows).is_open());
        assert!(open, "a link to a span that has ended leads nowhere");
        self.change(span, |told| told.follows.push(follows.into_u64()));
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = BTreeMap::new();
        event.record(&mut Fields(&mut fields));
        self.pages(|pages| pages.events.push((event.metadata().target().to_owned(), fields)));
    }

    fn enter(&self, span: &Id) {
        self.pages(|pages| pages.here().push(span.into_u64()));
    }

    fn exit(&self, span: &Id) {
        let entered = self.pages(|pages| pages.here().pop());
        assert_eq!(entered, Some(span.into_u64()), "spans are left in the order in which they were entered");
    }

    fn clone_span(&self, span: &Id) -> Id {
        self.change(span, |told| told.handles += 1);
        span.clone()
    }

    fn try_close(&self, span: Id) -> bool {
        self.change(&span, |told| told.handles -= 1);
        false
    }
}

impl Book {
    fn change(&self, span: &Id, change: impl FnOnce(&mut Told)) {
        self.pages(|pages| change(place(pages, span)));
    }
}

fn place<'a>(pages: &'a mut Pages, span: &Id) -> &'a mut Told {
    &mut pages.spans[usize::try_from(span.into_u64()).unwrap() - 1]
}
