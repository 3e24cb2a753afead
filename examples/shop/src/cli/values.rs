//! Values on the command line: each parser says what it would have taken.

use std::time::Duration;

use crate::load::Target;

/// Longest duration taken: a day.
const LONGEST: Duration = Duration::from_secs(86_400);

/// A duration such as `0s`, `250ms`, `1.5s` or `5m`, at most a day.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "write a number and a unit, such as 250ms, 30s or 5m, at most a day".to_owned();
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(unit_at);
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let seconds = match unit {
        "ms" => number / 1_000.0,
        "s" => number,
        "m" => number * 60.0,
        "h" => number * 3_600.0,
        _ => return Err(wrong()),
    };
    let duration = Duration::try_from_secs_f64(seconds).map_err(|_| wrong())?;
    if duration > LONGEST { Err(wrong()) } else { Ok(duration) }
}

/// A duration of at least a millisecond.
pub(crate) fn positive_duration(text: &str) -> Result<Duration, String> {
    let duration = duration(text)?;
    if duration < Duration::from_millis(1) {
        return Err("must be at least 1ms".to_owned());
    }
    Ok(duration)
}

/// A part of a whole, 0 to 1.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    within(text, 1.0)
}

/// An exponent of popularity, 0 to 5.
pub(crate) fn skew(text: &str) -> Result<f64, String> {
    within(text, 5.0)
}

fn within(text: &str, most: f64) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if (0.0..=most).contains(&number) => Ok(number),
        Ok(_) | Err(_) => Err(format!("write a number from 0 to {most}")),
    }
}

/// The shop's address.
pub(crate) fn target(text: &str) -> Result<Target, String> {
    Target::parse(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_with_their_unit() {
        for (text, millis) in [("0s", 0), ("250ms", 250), ("1.5s", 1_500), ("5m", 300_000), ("1h", 3_600_000)] {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "s", "30", "-1s", "1y", "NaNs", "infs", "25h", "1 s"] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert!(positive_duration("0s").is_err());
    }

    #[test]
    fn shares_lie_between_nothing_and_all() {
        assert_eq!(share("0.1"), Ok(0.1));
        for text in ["-0.1", "1.1", "NaN", "", "inf"] {
            assert!(share(text).is_err(), "{text}");
        }
    }
}
