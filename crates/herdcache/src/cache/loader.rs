//! Who flies a flight that a read opened: its caller at once, or a batch together with others.

use std::sync::Arc;

use herdfeed::FlightTrigger;

use crate::core::Core;
use crate::core::batch::Led;
use crate::flight::Flight;
use crate::key::Key;
use crate::origin::{AnyOrigin, LoadContext, LoadFuture};

/// What a read loads with, should it come to that.
pub(super) trait Loader<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static>: Sized {
    /// What the flights that it opens are started by.
    const TRIGGER: FlightTrigger;

    /// Makes the load of one key.
    fn start(self, cx: LoadContext<K, V>) -> LoadFuture<V, E>;

    /// The caller has opened a flight: it is flown, or put where it will be.
    fn lead(own: &mut Option<Self>, core: &Arc<Core<K, V, E>>, flight: &Arc<Flight<K, V, E>>);
}

/// The loader of a single read flies at once.
impl<K, V, E, L> Loader<K, V, E> for L
where
    K: Key,
    V: Send + Sync + 'static,
    E: Send + Sync + 'static,
    L: FnOnce(LoadContext<K, V>) -> LoadFuture<V, E>,
{
    const TRIGGER: FlightTrigger = FlightTrigger::Miss;

    fn start(self, cx: LoadContext<K, V>) -> LoadFuture<V, E> {
        self(cx)
    }

    fn lead(own: &mut Option<Self>, core: &Arc<Core<K, V, E>>, flight: &Arc<Flight<K, V, E>>) {
        if let Some(load) = own.take() {
            core.launch(flight, load);
        }
    }
}

/// B1: the loader of one read of a batch. Its flight waits here until the batch has looked at all of its keys.
pub(super) struct Together<'a, K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static> {
    pub(super) origin: &'a Arc<dyn AnyOrigin<K, V, E>>,
    pub(super) led: Option<Led<K, V, E>>,
}

impl<K, V, E> Loader<K, V, E> for Together<'_, K, V, E>
where
    K: Key,
    V: Send + Sync + 'static,
    E: Send + Sync + 'static,
{
    const TRIGGER: FlightTrigger = FlightTrigger::Batch;

    fn start(self, cx: LoadContext<K, V>) -> LoadFuture<V, E> {
        Arc::clone(self.origin).start(cx)
    }

    fn lead(own: &mut Option<Self>, core: &Arc<Core<K, V, E>>, flight: &Arc<Flight<K, V, E>>) {
        let led = Led::new(core, flight);
        if let Some(own) = own {
            own.led = Some(led);
        }
    }
}
