//! [`Wish`]: what a reader asked for in its query.
//!
//! Only words; whether a wish is granted is judged elsewhere.

use std::time::Duration;

use crate::server::answer::Refusal;

/// Snapshots per second without a wish.
const HZ: f64 = 4.0;
/// The slowest and fastest cadence.
const HZ_RANGE: (f64, f64) = (0.1, 20.0);

/// The parameters of a stream, of a snapshot, and of hello.
const OF_STREAM: &[&str] = &["hz", "events", "since", "keys"];
const OF_SNAPSHOT: &[&str] = &["keys"];
const OF_HELLO: &[&str] = &[];
/// The longest part of an unknown parameter that is told back.
const ECHOED: usize = 32;

/// What a subscriber asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Wish {
    /// Time between two snapshots.
    pub(super) every: Duration,
    pub(super) events: Events,
    pub(super) keys: Keys,
}

/// Which events a subscriber wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Events {
    /// From this sequence number on.
    Since(u64),
    /// None.
    Off,
}

/// How a reader wants to see keys. A reader never sees more than the application allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keys {
    /// Those of each cache as the application allows for it.
    AsAllowed,
    /// Readable, or not at all.
    Plain,
}

impl Wish {
    /// Reads a stream's query.
    pub(super) fn parse(query: &str) -> Result<Self, Refusal> {
        let (mut hz, mut since, mut wanted, mut keys) = (HZ, 0, Wanted::On, Keys::AsAllowed);
        for (name, value) in pairs(query, OF_STREAM)? {
            match name {
                "hz" => hz = parse_hz(value)?,
                "since" => since = parse_since(value)?,
                "events" => wanted = parse_events(value)?,
                _ => keys = parse_keys(value)?,
            }
        }
        let events = match wanted {
            Wanted::On => Events::Since(since),
            Wanted::Off => Events::Off,
        };
        Ok(Self { every: Duration::from_secs_f64(1.0 / hz), events, keys })
    }
}

/// Reads a snapshot's query.
pub(super) fn keys_only(query: &str) -> Result<Keys, Refusal> {
    pairs(query, OF_SNAPSHOT)?.first().map_or(Ok(Keys::AsAllowed), |(_, value)| parse_keys(value))
}

/// Reads the query of a path that takes no parameters.
pub(super) fn nothing(query: &str) -> Result<(), Refusal> {
    pairs(query, OF_HELLO).map(drop)
}

/// Names and values, each of them known and given once.
///
/// What is not understood is refused, not passed over: a reader that asks for less than it would
/// get, in words that this version does not know, must learn that it was not heard.
fn pairs<'a>(query: &'a str, known: &[&str]) -> Result<Vec<(&'a str, &'a str)>, Refusal> {
    let mut read: Vec<(&str, &str)> = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if !known.contains(&name) {
            return Err(unknown(name, known));
        }
        if read.iter().any(|(before, _)| *before == name) {
            return Err(Refusal::Query(format!("{name} is given twice: give it once")));
        }
        read.push((name, value));
    }
    Ok(read)
}

fn unknown(name: &str, known: &[&str]) -> Refusal {
    let name: String = name.chars().take(ECHOED).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    Refusal::Query(format!("unknown parameter {name:?}: known here: {known}"))
}

enum Wanted {
    On,
    Off,
}

fn parse_events(text: &str) -> Result<Wanted, Refusal> {
    match text {
        "on" => Ok(Wanted::On),
        "off" => Ok(Wanted::Off),
        _ => Err(Refusal::Query("events must be on or off".into())),
    }
}

fn parse_keys(text: &str) -> Result<Keys, Refusal> {
    match text {
        "plain" => Ok(Keys::Plain),
        // Events are kept as they were shown: what was readable then cannot be hashed for one reader now.
        "hash" => Err(Refusal::Query(
            "keys=hash is not offered: keys must be plain, or left out to see those of each cache as the application \
             allows; hashing is set by show_keys"
                .into(),
        )),
        _ => Err(Refusal::Query("keys must be plain, or left out to see those of each cache as allowed".into())),
    }
}

fn parse_hz(text: &str) -> Result<f64, Refusal> {
    let (least, most) = HZ_RANGE;
    let hz = text.parse::<f64>().ok().filter(|hz| hz.is_finite() && *hz > 0.0);
    let hz = hz.ok_or_else(|| Refusal::Query(format!("hz must be a number from {least} to {most}")))?;
    Ok(hz.clamp(least, most))
}

fn parse_since(text: &str) -> Result<u64, Refusal> {
    text.parse().map_err(|_| Refusal::Query("since must be the sequence number of an event".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_clamped_and_has_defaults() {
        for (query, millis, events) in [
            ("", 250, Events::Since(0)),
            ("hz=2", 500, Events::Since(0)),
            ("hz=1000&events=off", 50, Events::Off),
            ("hz=0.001&since=7", 10_000, Events::Since(7)),
            ("since=7&events=off", 250, Events::Off),
            ("&since=7&", 250, Events::Since(7)),
        ] {
            let wish = Wish { every: Duration::from_millis(millis), events, keys: Keys::AsAllowed };
            assert_eq!(Wish::parse(query), Ok(wish), "{query}");
        }
    }

    #[test]
    fn what_cannot_be_understood_is_named() {
        for (query, word) in [
            ("hz=fast", "hz"),
            ("hz=NaN", "hz"),
            ("hz=-1", "hz"),
            ("hz=0", "hz"),
            ("since=-1", "since"),
            ("events=1", "events"),
            ("events", "events"),
            ("since=1&since=2", "since is given twice"),
            ("keys=", "keys must be plain"),
            ("keys=PLAIN", "keys must be plain"),
            ("keys=hash", "keys=hash is not offered: keys must be plain, or left out"),
            ("later=x", "unknown parameter \"later\": known here: hz, events, since, keys"),
            ("HZ=4", "unknown parameter \"HZ\""),
        ] {
            let Err(Refusal::Query(message)) = Wish::parse(query) else { panic!("{query} was understood") };
            assert!(message.starts_with(word), "{query}: {message}");
        }
    }

    #[test]
    fn every_path_names_the_parameters_that_it_knows() {
        let told = |refused: Option<Refusal>| match refused {
            Some(Refusal::Query(message)) => message,
            other => panic!("{other:?}"),
        };
        assert_eq!(told(keys_only("hz=4").err()), "unknown parameter \"hz\": known here: keys");
        assert_eq!(told(nothing("keys=plain").err()), "unknown parameter \"keys\": known here: none");
        assert_eq!((keys_only(""), keys_only("keys=plain")), (Ok(Keys::AsAllowed), Ok(Keys::Plain)));
        // Readers show 200 characters of an error at most.
        assert!(told(nothing(&"x".repeat(9_000)).err()).len() < 200);
        assert!(told(keys_only("keys=hash").err()).len() < 200);
    }
}
