//! The fallback: the application's last word when nothing that was loaded may be answered.

use std::fmt;
use std::sync::Arc;

use crate::error::GetError;

type Hook<K, V, E> = dyn Fn(&K, &GetError<E>) -> Option<V> + Send + Sync;

/// A cache's fallback, if it has one.
pub(crate) struct Fallback<K, V, E>(Option<Arc<Hook<K, V, E>>>);

impl<K, V, E> Fallback<K, V, E> {
    pub(crate) fn none() -> Self {
        Self(None)
    }

    pub(crate) fn of(hook: impl Fn(&K, &GetError<E>) -> Option<V> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(hook)))
    }

    pub(crate) fn get(&self) -> Option<&Hook<K, V, E>> {
        self.0.as_deref()
    }
}

impl<K, V, E> fmt::Debug for Fallback<K, V, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Fallback(set)" } else { "Fallback(none)" })
    }
}
