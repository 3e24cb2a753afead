//! Sparklines and bars.
//!
//! A second in which nothing was heard is a gap and a zero is the lowest level.
//! A line that holds only zeros is left empty: there is nothing to read, and an
//! idle screen must not change.

use super::Ink;
use crate::figures::{cells, whole};

/// At least this many seconds are shown.
const LEAST_SECONDS: u64 = 60;

/// Values of `seconds` up to (not with) `now_second` as a line of `width` cells.
pub(super) fn line(ink: &Ink, width: usize, now_second: u64, value: impl Fn(u64) -> Option<f64>) -> String {
    let Ok(columns) = u64::try_from(width) else {
        return String::new();
    };
    if columns == 0 {
        return String::new();
    }
    let each = LEAST_SECONDS.div_ceil(columns).max(1);
    // Columns are cut at fixed seconds, so that a bar does not shimmer while it moves.
    let last = now_second / each;
    let values: Vec<Option<f64>> =
        (last.saturating_sub(columns)..last).map(|column| mean(column * each, each, &value)).collect();
    let most = values.iter().flatten().copied().fold(0.0, f64::max);
    if most <= 0.0 {
        return " ".repeat(width);
    }
    let top = step_above(most);
    let line: String = values.into_iter().map(|value| level(ink, value, top)).collect();
    format!("{line:>width$}")
}

fn mean(start: u64, each: u64, value: &impl Fn(u64) -> Option<f64>) -> Option<f64> {
    let heard: Vec<f64> = (start..start + each).filter_map(value).collect();
    (!heard.is_empty()).then(|| heard.iter().sum::<f64>() / heard.len() as f64)
}

fn level(ink: &Ink, value: Option<f64>, top: f64) -> char {
    let Some(value) = value else { return ink.glyphs.no_data };
    let highest = ink.glyphs.levels.len() - 1;
    let level = usize::try_from(whole((value / top * highest as f64).ceil())).unwrap_or(highest);
    ink.glyphs.levels.get(level.min(highest)).copied().unwrap_or(' ')
}

/// The next of 1, 2, 5 × 10ⁿ: the scale changes in steps, not with each value.
fn step_above(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * power).find(|step| *step >= value).unwrap_or(value)
}

/// `used` of `all` as a bar of `width` cells.
pub(super) fn bar(ink: &Ink, used: u64, all: u64, width: usize) -> String {
    let filled = cells(used, all, width);
    let glyph = |glyph: char, count: usize| std::iter::repeat_n(glyph, count);
    glyph(ink.glyphs.full, filled).chain(glyph(ink.glyphs.empty, width - filled)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::glyphs::Glyphs;
    use super::super::palette::Palette;
    use super::*;
    use crate::model::{Colors, GlyphSet};

    fn ink() -> Ink {
        Ink { palette: Palette::of(Colors::Mono), glyphs: Glyphs::of(GlyphSet::Unicode) }
    }

    #[test]
    fn gaps_zeros_and_peaks_look_different() {
        let value = |second| match second {
            940..950 => None,
            950..960 => Some(0.0),
            960..=1_000 => Some(99.0),
            _ => Some(1.0),
        };
        let line = line(&ink(), 6, 1_000, value);
        assert_eq!(line, "·▁████");
    }

    #[test]
    fn a_line_of_zeros_is_empty() {
        assert_eq!(line(&ink(), 6, 1_000, |_| Some(0.0)), "      ");
        assert_eq!(line(&ink(), 0, 1_000, |_| Some(0.0)), "");
        assert_eq!(line(&ink(), 4, 0, |_| Some(1.0)), "    ");
    }

    #[test]
    fn the_scale_steps_by_one_two_five() {
        for (value, step) in [(0.3, 0.5), (1.0, 1.0), (118.0, 200.0), (41_200.0, 50_000.0)] {
            assert!((step_above(value) - step).abs() < 1e-9 * step, "{value}");
        }
    }
}
