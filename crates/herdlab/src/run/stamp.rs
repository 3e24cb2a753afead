//! Wall time as RFC 3339 in UTC.
//!
//! A calendar crate would serve one line of one document; the civil date of a
//! day number is a dozen lines of well-known arithmetic.

use std::time::{SystemTime, UNIX_EPOCH};

/// `2026-03-01T12:00:00.000Z`. Times before 1970 show as 1970.
pub fn utc(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    let milli = since.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// Year, month and day of a number of days since 1970-01-01.
///
/// Years are counted from March, so that the leap day is a year's last and every
/// month's first day lies at (153 m + 2) / 5.
fn civil(days: u64) -> (u64, u64, u64) {
    // Days since 0000-03-01; a 400-year cycle has 146,097 days.
    let days = days + 719_468;
    let (cycle, of_cycle) = (days / 146_097, days % 146_097);
    let year_of_cycle = (of_cycle - of_cycle / 1_460 + of_cycle / 36_524 - of_cycle / 146_096) / 365;
    let of_year = of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = cycle * 400 + year_of_cycle + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn known_moments_are_spelled_right() {
        for (second, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_709_251_200, "2024-03-01T00:00:00.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(utc(UNIX_EPOCH + Duration::from_secs(second)), expected);
        }
        assert_eq!(utc(UNIX_EPOCH + Duration::from_millis(1_772_323_199_987)), "2026-02-28T23:59:59.987Z");
    }

    /// Every day from 1970 to 2400 follows the one before it.
    #[test]
    fn days_follow_one_another() {
        let mut last = civil(0);
        for number in 1..157_000 {
            let (year, month, day) = civil(number);
            let next_day = (year, month) == (last.0, last.1) && day == last.2 + 1;
            let next_month = (year, month, day) == (last.0, last.1 + 1, 1) && last.2 >= 28;
            let next_year = (year, month, day) == (last.0 + 1, 1, 1) && (last.1, last.2) == (12, 31);
            assert!(next_day || next_month || next_year, "{last:?} then {year}-{month}-{day}");
            last = (year, month, day);
        }
    }
}
