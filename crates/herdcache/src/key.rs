//! Keys: what may be one, and how one is shown.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};

use siphasher::sip::SipHasher24;

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
    /// As its JSON text. Personal data in keys will be on screens and in recordings.
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
        let shown = catch_unwind(AssertUnwindSafe(|| self.show_or_panic(key)));
        shown.unwrap_or_else(|_| "(its view panicked)".to_owned())
    }

    fn show_or_panic(&self, key: &K) -> String {
        let shown = match &self.view {
            KeyView::Hash => return format!("{:016x}", self.hash(key)),
            KeyView::Plain => plain(key),
            KeyView::With(show) => show(key),
        };
        match shown.char_indices().nth(SHOWN) {
            Some((cut, _)) => format!("{}…", &shown[..cut]),
            None => shown,
        }
    }

    /// K2: a keyed 64-bit hash of the key's text.
    fn hash(&self, key: &K) -> u64 {
        let mut hasher = Hashed(SipHasher24::new_with_keys(self.secret[0], self.secret[1]));
        // Hashed as it is written: a key of megabytes is never held as text.
        if serde_json::to_writer(&mut hasher, &whole(&self.cache, key)).is_err() {
            hasher.0.write(unwritable(key).as_bytes());
        }
        hasher.0.finish()
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
    let text = catch_unwind(AssertUnwindSafe(write)).ok().flatten()?;
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

/// The key's JSON text, a string without its quotes; no more of it than can be shown is ever made.
fn plain<K: Key>(key: &K) -> String {
    let mut text = Cut(Vec::with_capacity(32));
    match serde_json::to_writer(&mut text, key) {
        Ok(()) => {}
        // Full: what is there is the beginning.
        Err(error) if error.is_io() => {}
        Err(_) => return unwritable(key),
    }
    let whole = text.0.len() < LONGEST;
    let text = String::from_utf8_lossy(&text.0);
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

/// A key that JSON cannot hold (a map with keys that are no strings, say) is shown by its own hash.
fn unwritable<K: Key>(key: &K) -> String {
    let mut hasher = SipHasher24::new();
    key.hash(&mut hasher);
    format!("unwritable:{:016x}", hasher.finish())
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
mod tests {
    use super::*;

    /// K1: parts that a joining separator would confuse stay apart.
    #[test]
    fn k1_key_text_is_injective() {
        let keys =
            [("a", "b\",\"c"), ("a\",\"b", "c"), ("a,b", "c"), ("a", "b,c"), ("", "a,b,c"), ("a\0", "b"), ("a", "\0b")];
        let text = |cache: &str, key: &(&str, &str)| serde_json::to_string(&whole(cache, key)).unwrap();
        let texts: std::collections::HashSet<String> = keys.iter().map(|key| text("cache", key)).collect();
        assert_eq!(texts.len(), keys.len());
        assert_ne!(text("a", &("b", "")), text("ab", &("", "")));
        let hash = |cache: &str, key: &str| KeyNames::<String>::new(cache, KeyView::Hash).show(&key.to_owned());
        assert_ne!(hash("a", "b"), hash("ab", ""));
    }

    /// K1, L8: in a shared tier, no two keys, caches or schema versions have one text.
    #[test]
    fn k1_shared_texts_are_injective() {
        type Odd = std::collections::BTreeMap<(u8, u8), u8>;
        let text = |cache: &str, version, key: &(&str, &str)| {
            shared_text(cache, version, &(key.0.to_owned(), key.1.to_owned())).unwrap().0
        };
        let keys = [("a", "b\",\"c"), ("a\",\"b", "c"), ("a,b", "c"), ("", "a,b,c"), ("a\0", "b"), ("a", "\0b")];
        let mut texts: Vec<String> = keys.iter().map(|key| text("cache", 1, key)).collect();
        texts.extend([text("cache", 2, &keys[0]), text("c", 1, &keys[0]), text("cache\",1", 1, &keys[0])]);
        let different: std::collections::HashSet<&String> = texts.iter().collect();
        assert_eq!(different.len(), texts.len(), "{texts:?}");
        assert_eq!(texts[2], r#"["cache",1,["a,b","c"]]"#);
        assert_eq!(shared_text("odd", 1, &Odd::from([((1, 1), 1)])), None);
    }

    /// K2: the default view shows nothing of the key and differs by cache.
    #[test]
    fn k2_keys_are_hashed_unless_opted_in() {
        let users = KeyNames::<String>::new("users", KeyView::Hash);
        let orders = KeyNames::<String>::new("orders", KeyView::Hash);
        let key = "alice@example.org".to_owned();
        let shown = users.show(&key);
        assert_eq!(shown.len(), 16);
        assert!(!shown.contains("alice"));
        assert_eq!(shown, KeyNames::new("users", KeyView::Hash).show(&key));
        assert_ne!(shown, orders.show(&key));
        assert_eq!(KeyNames::new("users", KeyView::Plain).show(&key), key);
        assert_eq!(KeyNames::new("users", KeyView::With(|key: &String| key.len().to_string())).show(&key), "17");
    }

    /// K1: a key that JSON cannot hold is still shown, and apart from others.
    #[test]
    fn k1_unwritable_keys_are_told_apart() {
        type Odd = std::collections::BTreeMap<(u8, u8), u8>;
        let names = KeyNames::<Odd>::new("odd", KeyView::Plain);
        let (one, two) = (Odd::from([((1, 1), 1)]), Odd::from([((1, 1), 2)]));
        assert!(names.show(&one).starts_with("unwritable:"));
        assert_ne!(names.show(&one), names.show(&two));
    }

    /// L7: a long key is cut between characters.
    #[test]
    fn l7_long_keys_are_cut() {
        let names = KeyNames::<String>::new("c", KeyView::Plain);
        for text in ["é", "\u{1}", "a", "\"", "\\", "🦀"] {
            let shown = names.show(&text.repeat(10_000));
            assert_eq!(shown, text.repeat(SHOWN) + "…");
        }
        let names = KeyNames::<Vec<String>>::new("c", KeyView::Plain);
        let shown = names.show(&vec!["é".to_owned(); 10_000]);
        assert_eq!(shown.chars().count(), SHOWN + 1);
        assert!(shown.starts_with("[\"é\",\"é\""), "{shown}");
    }

    /// L7: no more of a key is written than can be shown.
    #[test]
    fn l7_a_huge_key_is_not_written_whole() {
        #[derive(Clone, PartialEq, Eq, Hash)]
        struct Huge;
        static WRITTEN: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        impl serde::Serialize for Huge {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let pieces = (0..1_000_000).inspect(|_| _ = WRITTEN.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
                serializer.collect_seq(pieces)
            }
        }
        assert!(KeyNames::<Huge>::new("c", KeyView::Plain).show(&Huge).starts_with("[0,1,2,"));
        let written = WRITTEN.load(std::sync::atomic::Ordering::Relaxed);
        assert!(written < 1_000, "{written}");
    }
}
