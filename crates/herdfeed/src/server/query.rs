//! [`Wish`]: what a subscriber asked for in its query.

use std::time::Duration;

use crate::server::answer::Refusal;

/// Snapshots per second without a wish.
const HZ: f64 = 4.0;
/// The slowest and fastest cadence.
const HZ_RANGE: (f64, f64) = (0.1, 20.0);

/// What a subscriber asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Wish {
    /// Time between two snapshots.
    pub(super) every: Duration,
    pub(super) events: Events,
}

/// Which events a subscriber wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Events {
    /// From this sequence number on.
    Since(u64),
    /// None.
    Off,
}

impl Wish {
    /// Reads the query. Parameters that this version does not know are left alone: a
    /// later reader may send them.
    pub(super) fn parse(query: &str) -> Result<Self, Refusal> {
        let (mut hz, mut since, mut wanted) = (HZ, 0, Wanted::On);
        for (name, value) in query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, ""))) {
            match name {
                "hz" => hz = parse_hz(value)?,
                "since" => since = parse_since(value)?,
                "events" => wanted = parse_events(value)?,
                _ => {}
            }
        }
        let events = match wanted {
            Wanted::On => Events::Since(since),
            Wanted::Off => Events::Off,
        };
        Ok(Self { every: Duration::from_secs_f64(1.0 / hz), events })
    }
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
            ("since=7&events=off&later=x", 250, Events::Off),
        ] {
            let wish = Wish { every: Duration::from_millis(millis), events };
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
        ] {
            let Err(Refusal::Query(message)) = Wish::parse(query) else { panic!("{query} was understood") };
            assert!(message.starts_with(word), "{query}: {message}");
        }
    }
}
