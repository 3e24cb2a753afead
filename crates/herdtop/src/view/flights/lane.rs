//! The lane of one flight: when it started, how far it came, how it ended.

use super::super::Ink;
use crate::figures::{seconds, whole};
use crate::rows::flights::Row;

/// Spans that a lane can show.
const WINDOWS_US: [u64; 6] = [4_000_000, 10_000_000, 30_000_000, 60_000_000, 300_000_000, 3_600_000_000];

/// The shortest span in which every flight in progress fits.
pub(super) fn window_us(rows: &[Row]) -> u64 {
    let oldest = rows.iter().filter(|row| row.landed_ago_us.is_none()).map(|row| row.started_ago_us).max().unwrap_or(0);
    WINDOWS_US.into_iter().find(|window| *window >= oldest).unwrap_or(3_600_000_000)
}

/// `-4s        -2s        now`
pub(super) fn scale(width: usize, window_us: u64) -> String {
    if width < 12 {
        return format!("{:>width$}", if width >= 3 { "now" } else { "" });
    }
    let start = format!("-{}", seconds(window_us));
    let middle = format!("-{}", seconds(window_us / 2));
    let half = width / 2;
    if width < 24 {
        return format!("{start:<0$}{1:>2$}", start.len(), "now", width - start.len());
    }
    format!("{start:<half$}{middle:<0$}{1:>2$}", middle.len(), "now", width - half - middle.len())
}

/// The lane in `width` cells, now at the right end.
pub(super) fn cells(ink: &Ink, row: &Row, width: usize, window_us: u64) -> String {
    if width == 0 || window_us == 0 {
        return String::new();
    }
    let last = width - 1;
    let place = |ago_us: u64| {
        let part = (1.0 - ago_us as f64 / window_us as f64).max(0.0);
        usize::try_from(whole((part * last as f64).round())).unwrap_or(0).min(last)
    };
    let start = place(row.started_ago_us);
    let end = row.landed_ago_us.map_or(last, place).max(start);
    let body =
        if row.is_herd() && row.flight.end.is_none() { ink.glyphs.crowd } else { ink.glyphs.stage(row.flight.stage) };
    let tip = match row.flight.end {
        Some(end) => ink.glyphs.end(end),
        None => ink.glyphs.head,
    };
    (0..width)
        .map(|cell| match cell {
            cell if cell == end => tip,
            cell if cell >= start && cell < end => body,
            _ => ' ',
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_fits_its_width() {
        for width in 0..80 {
            assert!(scale(width, 4_000_000).chars().count() <= width, "{width}");
        }
        assert_eq!(scale(30, 4_000_000), "-4s            -2s         now");
    }
}
