//! The words on screen, a line for each: the help page ends with them.

/// A word and what it means, in the order in which they build on each other.
pub const GLOSSARY: &[(&str, &str)] = &[
    ("flight", "one running load of one key in one process"),
    ("waiter", "a caller that joined a flight; the caller that opened it is its leader"),
    ("loaded", "answered by a flight that this caller opened"),
    ("coalesced", "answered by a flight that another caller opened"),
    ("hit", "answered from the cache, the value was fresh"),
    ("stale", "answered with an old value within its bound, while a load runs or has failed"),
    ("negative", "the cache knows that the key does not exist"),
    ("rejected", "refused to protect the origin (load shedding); also cooling: a load has just failed"),
    ("failed", "the caller got an error, or its own wait timed out"),
    ("herd", "many requests wait for one load of one key: harmless to the origin"),
    ("stampede", "many loads of one key at once: what single-flight prevents"),
    ("avalanche", "many keys expire together and load at once"),
    ("origin", "what is loaded from: a database, a service"),
    ("permit", "the right to call the origin; the gate has so many"),
    ("queue", "loads that wait for a permit; beyond it callers are refused"),
    ("skipped", "background refreshes that found no permit"),
    ("abandoned", "origin calls that go on after their flight ended, and hold a permit"),
    ("queued", "a flight that waits for a permit; held: until an older load of its key ends"),
    ("doomed", "a flight whose key was changed meanwhile: its value cannot be stored"),
    ("x12", "so many loads of this key run at once"),
    ("conn", "what loads reported of their wait for a connection"),
    ("discarded", "a flight's value was not stored, mostly because its key was changed meanwhile"),
    ("loads", "loads in progress now, and of how many keys of each process: one for each key is ideal"),
    ("exposure", "requests for each origin call: how many times more the origin would see without the cache"),
    ("fresh left", "time until the value is no longer fresh; then it is stale, then expired"),
    ("age p99", "how far past freshness stale answers were"),
    ("protection", "process: one load per key and process; cluster: over all; degraded: the lease is lost"),
    ("observe", "the cache runs without countermeasures"),
    ("early refresh", "hot keys are reloaded shortly before they expire"),
    ("jitter", "lifetimes differ a little, so that keys do not expire together"),
    ("differs", "a setting in which this process is unlike the others of its service"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_has_one_line_and_stands_once() {
        for (place, (word, meaning)) in GLOSSARY.iter().enumerate() {
            assert!(!meaning.is_empty() && !meaning.contains('\n'), "{word}");
            assert!(word.len() <= 14 && meaning.len() <= 96, "{word}: {} bytes", meaning.len());
            assert!(GLOSSARY[..place].iter().all(|(other, _)| other != word), "{word}");
        }
    }
}
