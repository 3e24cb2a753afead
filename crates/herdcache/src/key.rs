//! Keys: what may be one, and how one is shown.

mod secret;

use std::fmt;
use std::hash::{Hash, Hasher};

use siphasher::sip::SipHasher24;

pub use secret::Secret;

use crate::contained::contained;
use secret::Veiled;

/// What a cache can be keyed by: anything that hashes, compares, clones and serialises.
///
/// Nothing to implement. A struct of tenant, id, locale and audience is natural;
/// whatever a loader reads must be part of the key, since one caller's load
/// answers all others of the same key.
///
/// The serialised form is only used to show the key (as a hash, unless the
/// application opts in) and in a shared tier, where it stands in plain.
///
/// A key's `Eq` and `Hash` run under locks of the cache and must not call it. Its `Clone` and `Drop` may.
///
/// ```
/// use std::time::Duration;
/// use herdcache::{Cache, Gate, Key, Ttl};
///
/// #[derive(Clone, PartialEq, Eq, Hash, serde::Serialize)]
/// struct Page { tenant: u32, path: String, locale: &'static str }
///
/// /// Any key will do.
/// fn has<K: Key>(cache: &Cache<K, String>, key: &K) -> bool {
///     cache.peek(key).is_some()
/// }
///
/// let pages = Cache::builder("pages", Ttl::fresh_for(Duration::from_secs(60)), &Gate::new(8)).build()?;
/// let german = Page { tenant: 7, path: "/".into(), locale: "de" };
/// pages.insert(german.clone(), "Hallo".to_owned());
/// assert!(has(&pages, &german) && !has(&pages, &Page { locale: "en", ..german })); // each has its own
/// # Ok::<(), herdcache::ConfigError>(())
/// ```
pub trait Key: Hash + Eq + Clone + serde::Serialize + Send + Sync + 'static {}

impl<K: Hash + Eq + Clone + serde::Serialize + Send + Sync + 'static> Key for K {}

/// How keys appear on screens, in events and in the feed.
#[derive(Default)]
pub enum KeyView<K> {
    /// As 16 hexadecimal digits of a keyed `SipHash` (default).
    ///
    /// The same key gives the same digits in every process that has the same
    /// `HERDCACHE_KEY_SECRET`. This is pseudonymous: ids from a small space can be guessed.
    #[default]
    Hash,
    /// As its JSON text. Personal data in keys will be on screens and in recordings, but for parts marked [`Secret`].
    Plain,
    /// As this function says, for keys that are readable once their secret parts are gone.
    With(fn(&K) -> String),
}

impl<K> Clone for KeyView<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Hash => Self::Hash,
            Self::Plain => Self::Plain,
            Self::With(show) => Self::With(*show),
        }
    }
}

impl<K> fmt::Debug for KeyView<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

impl<K> KeyView<K> {
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Self::Hash => "hash",
            Self::Plain => "plain",
            Self::With(_) => "function",
        }
    }
}

/// The longest key shown, in characters; longer ones end in `…`.
const SHOWN: usize = 120;

/// Shows the keys of one cache.
#[derive(Debug)]
pub(crate) struct KeyNames<K> {
    cache: String,
    view: KeyView<K>,
    secret: [u64; 2],
}

impl<K: Key> KeyNames<K> {
    pub(crate) fn new(cache: &str, view: KeyView<K>) -> Self {
        Self { cache: cache.to_owned(), view, secret: secret() }
    }

    pub(crate) fn view(&self) -> &KeyView<K> {
        &self.view
    }

    /// The key as the application lets it be seen. Never panics, whatever the application's code does.
    pub(crate) fn show(&self, key: &K) -> String {
        contained(|| self.show_or_panic(key)).unwrap_or_else(|| "(its view panicked)".to_owned())
    }

    fn show_or_panic(&self, key: &K) -> String {
        let shown = match &self.view {
            KeyView::Hash => return format!("{:016x}", self.hash(key)),
            KeyView::Plain => self.plain(key),
            KeyView::With(show) => show(key),
        };
        match shown.char_indices().nth(SHOWN) {
            Some((cut, _)) => format!("{}…", &shown[..cut]),
            None => shown,
        }
    }

    /// K2: a keyed 64-bit hash of the key's text.
    fn hash(&self, key: &K) -> u64 {
        let mut hasher = Hashed(self.hasher());
        // Hashed as it is written: a key of megabytes is never held as text.
        if serde_json::to_writer(&mut hasher, &whole(&self.cache, key)).is_err() {
            hasher.0.write(self.unwritable(key).as_bytes());
        }
        hasher.0.finish()
    }

    fn hasher(&self) -> SipHasher24 {
        SipHasher24::new_with_keys(self.secret[0], self.secret[1])
    }

    /// K2: secret parts are hashed as parts of this cache's keys, so that they cannot be followed into another.
    fn veil(&self) -> Veiled {
        let mut hasher = Hashed(self.hasher());
        // Writing two strings into a hash does not fail.
        let _ = serde_json::to_writer(&mut hasher, &(&self.cache, "secret"));
        Veiled::on(hasher.0)
    }

    /// The key's JSON text, a string without its quotes; no more of it than can be shown is ever made.
    fn plain(&self, key: &K) -> String {
        let mut text = Cut(Vec::with_capacity(32));
        let written = {
            let _veiled = self.veil();
            serde_json::to_writer(&mut text, key)
        };
        match written {
            Ok(()) => readable(&text.0),
            // Full: what is there is the beginning.
            Err(error) if error.is_io() => readable(&text.0),
            Err(_) => self.unwritable(key),
        }
    }

    /// A key that JSON cannot hold (a map with keys that are no strings, say) is shown by its own hash.
    fn unwritable(&self, key: &K) -> String {
        let mut hasher = self.hasher();
        key.hash(&mut hasher);
        format!("unwritable:{:016x}", hasher.finish())
    }
}

/// Version of the keys' text form; raised when it changes.
const SCHEMA_VERSION: u32 = 1;

/// K1: what the key's text is made of. As JSON it is an array of cache name, schema version and key: no
/// bytes that a key's parts may hold can make two different keys look the same.
fn whole<'a, K: serde::Serialize>(cache: &'a str, key: &'a K) -> (&'a str, u32, &'a K) {
    (cache, SCHEMA_VERSION, key)
}

/// K1: the key's text in a shared tier, and its hash, which is the same in every process.
///
/// `None` if JSON cannot hold the key, or the application's code panics: a key without a text of its own is not shared.
pub(crate) fn shared_text<K: Key>(namespace: &str, schema_version: u32, key: &K) -> Option<(String, u64)> {
    let write = || serde_json::to_string(&(namespace, schema_version, key)).ok();
    let text = contained(write).flatten()?;
    let mut hasher = SipHasher24::new();
    hasher.write(text.as_bytes());
    Some((text, hasher.finish()))
}

/// A writer that keeps nothing but the hash of what was written.
struct Hashed(SipHasher24);

impl std::io::Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// JSON text as far as it was written, a string without its quotes.
fn readable(written: &[u8]) -> String {
    let whole = written.len() < LONGEST;
    let text = String::from_utf8_lossy(written);
    if !text.starts_with('"') {
        return text.into_owned();
    }
    if whole {
        return serde_json::from_str(&text).unwrap_or_else(|_| text.into_owned());
    }
    // Cut within the string: close it behind its last whole character, so that escapes are read as such.
    let ends = (text.len().saturating_sub(12)..=text.len()).rev().filter(|end| text.is_char_boundary(*end));
    let closed = ends.filter_map(|end| serde_json::from_str::<String>(&format!("{}\"", &text[..end])).ok());
    closed.into_iter().next().unwrap_or_else(|| text[1..].to_owned())
}

/// The longest JSON text that is made of a key to show it: 120 characters of 12 bytes as escapes, and quotes.
const LONGEST: usize = SHOWN * 12 + 2;

/// A writer that takes [`LONGEST`] bytes and then refuses.
struct Cut(Vec<u8>);

impl std::io::Write for Cut {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let taken = bytes.len().min(LONGEST - self.0.len());
        self.0.extend_from_slice(&bytes[..taken]);
        // Nothing taken ends the writing with an error.
        Ok(taken)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The hash key from `HERDCACHE_KEY_SECRET`, else a constant, so that processes agree.
fn secret() -> [u64; 2] {
    let given = std::env::var("HERDCACHE_KEY_SECRET").unwrap_or_default();
    let half = |salt: u64| {
        let mut hasher = SipHasher24::new_with_keys(salt, 0x6865_7264);
        hasher.write(given.as_bytes());
        hasher.finish()
    };
    [half(1), half(2)]
}

#[cfg(test)]
mod tests;
