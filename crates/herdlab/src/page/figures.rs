//! Figures as a page tells them.

/// How a figure is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A number of things: whole from 100 on, else with one place if it has one.
    Count,
    /// A part, in hundredths.
    Percent,
    /// Milliseconds.
    Ms,
    /// Milliseconds, told in seconds.
    Seconds,
}

impl Unit {
    pub(super) fn of(word: &str) -> Option<Self> {
        match word {
            "n" => Some(Self::Count),
            "%" => Some(Self::Percent),
            "ms" => Some(Self::Ms),
            "s" => Some(Self::Seconds),
            _ => None,
        }
    }

    /// The figure with its unit.
    pub(super) fn write(self, figure: f64) -> String {
        match self {
            Self::Count => count(figure),
            Self::Percent => format!("{} %", count(figure * 100.0)),
            Self::Ms => format!("{} ms", count(figure)),
            Self::Seconds => format!("{} s", places(figure / 1_000.0)),
        }
    }
}

/// Whole where that is exact to a part in a hundred, else with one place.
fn count(value: f64) -> String {
    if value >= 100.0 { grouped(value) } else { places(value) }
}

fn places(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), String::from)
}

/// With a comma before every three digits.
fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_as_exact_as_they_are_told() {
        let written = |unit: &str, figure| Unit::of(unit).unwrap().write(figure);
        assert_eq!(written("n", 5_041.6), "5,042");
        assert_eq!(written("n", 1_234_567.0), "1,234,567");
        assert_eq!([written("n", 1.0), written("n", 33.46)], ["1", "33.5"]);
        assert_eq!([written("%", 1.0), written("%", 0.418_68)], ["100 %", "41.9 %"]);
        assert_eq!([written("ms", 0.98), written("s", 2_498.0)], ["1 ms", "2.5 s"]);
        assert_eq!(Unit::of("apples"), None);
    }
}
