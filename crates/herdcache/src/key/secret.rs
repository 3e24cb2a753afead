//! [`Secret`]: a part of a key that no screen shows, whatever the application lets be seen of the rest.
//!
//! The cache shows a key by serialising it, and a part cannot ask its serialiser what for. So showing
//! says so itself, in a thread-local *veil* that is on while it serialises; under it a secret part writes its
//! keyed hash. Everywhere else the wrapper is as good as not there: two keys are told apart by their true
//! parts, and what an application writes for itself can be read back.

use std::cell::Cell;
use std::fmt;
use std::hash::Hasher;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use siphasher::sip::SipHasher24;

use super::Hashed;

/// A part of a key that telemetry never shows: a token, an e-mail address.
///
/// On screens, in events and in the feed it is `#` and 16 hexadecimal digits, also under [`KeyView::Plain`]: the
/// keyed hash of the part, the same for the same part in every process with the same `HERDCACHE_KEY_SECRET`, and
/// another in each cache. As for whole keys this is pseudonymous: ids from a small space can be guessed.
/// [`KeyView::With`] is the application's own text of the key, which gets a secret part by
/// [`expose`](Self::expose) only.
///
/// To the cache it is `T`: it compares, hashes and serialises as such. So **whatever else serialises the key writes the
/// part in clear**: saving [`hot_keys`](crate::Cache::hot_keys) to a file does, so that they can be read back, and so
/// does a shared tier, by whose keys processes find each other's values. `Debug` shows nothing of it.
///
/// ```
/// use std::time::Duration;
/// use herdcache::{Cache, Gate, KeyView, Secret, Ttl};
///
/// #[derive(Clone, PartialEq, Eq, Hash, serde::Serialize)]
/// struct Session { tenant: u32, token: Secret<String> }
///
/// let sessions = Cache::<Session, String>::builder("sessions", Ttl::fresh_for(Duration::from_secs(60)), &Gate::new(8))
///     .show_keys(KeyView::Plain)                    // {"tenant":7,"token":"#5d8f…"}
///     .build()?;
/// let key = Session { tenant: 7, token: Secret::new("0f6b3c1d".to_owned()) };
/// assert_eq!(key.token.expose(), "0f6b3c1d");       // what a loader asks for
/// assert_eq!(format!("{:?}", key.token), "Secret(…)");
/// assert_eq!(key.token.into_inner(), "0f6b3c1d");
/// # let _ = sessions;
/// # Ok::<(), herdcache::ConfigError>(())
/// ```
///
/// [`KeyView::Plain`]: crate::KeyView::Plain
/// [`KeyView::With`]: crate::KeyView::With
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// Marks this part as secret.
    pub const fn new(part: T) -> Self {
        Self(part)
    }

    /// The part itself, for whoever loads by it.
    pub const fn expose(&self) -> &T {
        &self.0
    }

    /// The part itself.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> From<T> for Secret<T> {
    fn from(part: T) -> Self {
        Self(part)
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl<T: Serialize> Serialize for Secret<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(veil) = VEIL.get() else { return self.0.serialize(serializer) };
        // A secret within this one is part of what is hashed.
        let _lifted = Veiled::set(None);
        let mut hasher = Hashed(veil);
        serde_json::to_writer(&mut hasher, &self.0).map_err(serde::ser::Error::custom)?;
        serializer.serialize_str(&format!("#{:016x}", hasher.0.finish()))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Secret<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self)
    }
}

thread_local! {
    /// What secret parts are hashed with while a key is shown; `None` while none is.
    static VEIL: Cell<Option<SipHasher24>> = const { Cell::new(None) };
}

/// The veil is as it was before, once this is dropped: a key's own code may panic.
pub(super) struct Veiled(Option<SipHasher24>);

impl Veiled {
    /// Secret parts that this thread serialises from now on are hashed, as a continuation of `hasher`.
    pub(super) fn on(hasher: SipHasher24) -> Self {
        Self::set(Some(hasher))
    }

    fn set(veil: Option<SipHasher24>) -> Self {
        Self(VEIL.replace(veil))
    }
}

impl Drop for Veiled {
    fn drop(&mut self) {
        VEIL.set(self.0);
    }
}
