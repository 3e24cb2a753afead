//! Numbers and durations as text: three significant digits, a unit always.
//!
//! Widths are bounded (5 for counts, 6 for durations), so that columns stand still.

use std::time::Duration;

/// A non-negative float as a whole number; NaN and negatives give 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates and the value is not negative"
)]
pub fn whole(value: f64) -> u64 {
    value.max(0.0) as u64
}

/// The sum of counts from outside: it saturates, since a feed may say anything.
pub fn sum(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

/// `part` of `all` as cells of `width`: 0 only for 0, `width` only for all.
pub fn cells(part: u64, all: u64, width: usize) -> usize {
    if all == 0 || part == 0 || width == 0 {
        return 0;
    }
    if part >= all {
        return width;
    }
    let filled = whole(part as f64 / all as f64 * width as f64);
    usize::try_from(filled).unwrap_or(width).clamp(1, width.saturating_sub(1).max(1))
}

/// A count or rate in at most five characters: `0`, `0.3`, `41`, `1.2k`, `41.2k`, `999M`.
pub fn count(value: f64) -> String {
    const UNITS: [&str; 6] = ["", "k", "M", "G", "T", "P"];
    if !value.is_finite() {
        return "-".to_owned();
    }
    let mut scaled = value.max(0.0);
    let mut unit = 0;
    while scaled >= 999.5 && unit + 1 < UNITS.len() {
        scaled /= 1000.0;
        unit += 1;
    }
    let suffix = UNITS[unit];
    if scaled == 0.0 {
        return "0".to_owned();
    }
    if scaled >= 999.5 {
        return ">999P".to_owned();
    }
    let digits = match unit {
        0 if scaled >= 9.95 => 0,
        0 => usize::from(scaled.fract() > 0.001),
        _ if scaled >= 99.95 => 0,
        _ => 1,
    };
    if unit == 0 && scaled < 0.05 {
        return "<0.1".to_owned();
    }
    format!("{scaled:.digits$}{suffix}")
}

/// A whole count, see [`count`].
pub fn number(value: u64) -> String {
    count(value as f64)
}

/// A fraction as a percentage in at most five characters.
pub fn percent(fraction: f64) -> String {
    if !fraction.is_finite() {
        return "-".to_owned();
    }
    let value = (fraction * 100.0).clamp(0.0, 999.0);
    if value > 0.0 && value < 0.05 {
        return "<0.1%".to_owned();
    }
    if value >= 99.95 || value == 0.0 {
        return format!("{value:.0}%");
    }
    format!("{value:.1}%")
}

/// A duration in at most six characters: `950us`, `1.2ms`, `640ms`, `2.41s`, `41s`, `2m05s`, `3h12m`, `12d`.
pub fn micros(us: u64) -> String {
    let ms = us as f64 / 1e3;
    let s = us as f64 / 1e6;
    match us {
        0..1_000 => format!("{us}us"),
        1_000..9_950 => format!("{ms:.1}ms"),
        9_950..999_500 => format!("{ms:.0}ms"),
        999_500..9_995_000 => format!("{s:.2}s"),
        9_995_000..59_950_000 => format!("{s:.0}s"),
        _ => long(Duration::from_micros(us)),
    }
}

fn long(duration: Duration) -> String {
    let seconds = duration.as_secs_f64().round();
    let seconds = whole(seconds);
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match seconds {
        0..3_600 => format!("{minutes}m{:02}s", seconds % 60),
        3_600..86_400 => format!("{hours}h{:02}m", minutes % 60),
        _ if days < 1_000 => format!("{days}d"),
        _ => format!("{}y", (days / 365).min(999)),
    }
}

/// Whole seconds of a duration, for texts that must not change more than once a second.
pub fn seconds(us: u64) -> String {
    match us / 1_000_000 {
        s @ 0..60 => format!("{s}s"),
        s => long(Duration::from_secs(s)),
    }
}

/// Wall time of day as `12:41:07`, in UTC: the clock that logs of a fleet agree on.
pub fn time_of_day(unix_us: u64) -> String {
    let seconds = unix_us / 1_000_000 % 86_400;
    format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// Since when something holds: seconds while it is young, then the time of day, so
/// that a long-lived line stands still.
pub fn since(start_unix_us: u64, now_unix_us: u64) -> String {
    let age = now_unix_us.saturating_sub(start_unix_us);
    match age {
        0..1_000_000 => "just now".to_owned(),
        1_000_000..60_000_000 => format!("for {}", seconds(age)),
        _ => format!("since {}", time_of_day(start_unix_us)),
    }
}

/// When a thing of one moment happened: how long ago while it is young, then the time of day.
pub fn ago(at_unix_us: u64, now_unix_us: u64) -> String {
    let age = now_unix_us.saturating_sub(at_unix_us);
    match age {
        0..1_000_000 => "just now".to_owned(),
        1_000_000..60_000_000 => format!("{} ago", seconds(age)),
        _ => format!("at {}", time_of_day(at_unix_us)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_keep_three_digits_and_five_characters() {
        let table = [
            (0.0, "0"),
            (0.01, "<0.1"),
            (0.3, "0.3"),
            (1.0, "1"),
            (9.96, "10"),
            (41.4, "41"),
            (999.4, "999"),
            (999.6, "1.0k"),
            (41_249.0, "41.2k"),
            (999_499.0, "999k"),
            (2.5e6, "2.5M"),
            (1.8e19, ">999P"),
        ];
        for (value, text) in table {
            assert_eq!(count(value), text, "{value}");
        }
        assert_eq!(count(f64::NAN), "-");
    }

    #[test]
    fn durations_keep_three_digits_and_six_characters() {
        let table = [
            (0, "0us"),
            (950, "950us"),
            (1_234, "1.2ms"),
            (640_000, "640ms"),
            (2_410_000, "2.41s"),
            (41_000_000, "41s"),
            (59_960_000, "1m00s"),
            (125_000_000, "2m05s"),
            (11_520_000_000, "3h12m"),
            (1_036_800_000_000, "12d"),
            (u64::MAX, "999y"),
        ];
        for (us, text) in table {
            assert_eq!(micros(us), text, "{us}");
        }
    }

    #[test]
    fn a_bar_is_full_only_when_all_is_used() {
        assert_eq!([cells(0, 10, 8), cells(1, 1_000, 8), cells(999, 1_000, 8), cells(10, 10, 8)], [0, 1, 7, 8]);
        assert_eq!(cells(5, 0, 8), 0);
    }

    #[test]
    fn a_young_fact_has_an_age_and_an_old_one_a_time() {
        let start = 45_667_000_000;
        assert_eq!(since(start, start + 400_000), "just now");
        assert_eq!(since(start, start + 3_400_000), "for 3s");
        assert_eq!(since(start, start + 61_000_000), "since 12:41:07");
        assert_eq!(ago(start, start + 3_400_000), "3s ago");
        assert_eq!(ago(start, start + 61_000_000), "at 12:41:07");
    }
}
