//! Colours: the Okabe–Ito palette, which colour-blind eyes can tell apart.
//!
//! Colour comes third, after place and letter: without any the screen says the same.

use herdfeed::{FlightEnd, Severity};
use ratatui::style::{Color, Modifier, Style};

use crate::model::Colors;
use crate::rows::outcomes::Row;

/// A style for each meaning.
pub(super) struct Palette {
    pub(super) plain: Style,
    pub(super) bold: Style,
    pub(super) dim: Style,
    pub(super) good: Style,
    pub(super) warn: Style,
    pub(super) critical: Style,
    pub(super) info: Style,
    pub(super) selected: Style,
    pub(super) focus: Style,
    pub(super) held: Style,
    stale: Style,
    negative: Style,
    loaded: Style,
    coalesced: Style,
    rejected: Style,
    failed: Style,
}

/// Green, orange, sky, blue, purple, vermilion, grey.
struct Hues([Color; 7]);

impl Palette {
    pub(super) fn of(colors: Colors) -> Self {
        match colors {
            Colors::True => Self::coloured(&Hues([
                Color::Rgb(0x00, 0x9e, 0x73),
                Color::Rgb(0xe6, 0x9f, 0x00),
                Color::Rgb(0x56, 0xb4, 0xe9),
                Color::Rgb(0x2f, 0x8f, 0xd0),
                Color::Rgb(0xcc, 0x79, 0xa7),
                Color::Rgb(0xd5, 0x5e, 0x00),
                Color::Rgb(0x99, 0x99, 0x99),
            ])),
            Colors::Indexed => Self::coloured(&Hues([36, 178, 74, 32, 175, 166, 246].map(Color::Indexed))),
            Colors::Named => Self::coloured(&Hues([
                Color::Green,
                Color::Yellow,
                Color::Cyan,
                Color::Blue,
                Color::Magenta,
                Color::Red,
                Color::DarkGray,
            ])),
            Colors::Mono => Self::mono(),
        }
    }

    fn coloured(Hues([green, orange, sky, blue, purple, vermilion, grey]): &Hues) -> Self {
        let fg = |color: &Color| Style::new().fg(*color);
        Self {
            plain: Style::new(),
            bold: Style::new().add_modifier(Modifier::BOLD),
            dim: fg(grey),
            good: fg(green),
            warn: fg(orange).add_modifier(Modifier::BOLD),
            critical: fg(vermilion).add_modifier(Modifier::BOLD),
            info: fg(sky),
            selected: Style::new().add_modifier(Modifier::REVERSED),
            focus: fg(sky).add_modifier(Modifier::BOLD),
            held: fg(orange),
            stale: fg(orange),
            negative: fg(grey),
            loaded: fg(sky),
            coalesced: fg(blue),
            rejected: fg(purple),
            failed: fg(vermilion),
        }
    }

    fn mono() -> Self {
        let plain = Style::new();
        let bold = plain.add_modifier(Modifier::BOLD);
        Self {
            plain,
            bold,
            dim: plain.add_modifier(Modifier::DIM),
            good: plain,
            warn: bold,
            critical: bold.add_modifier(Modifier::REVERSED),
            info: plain,
            selected: plain.add_modifier(Modifier::REVERSED),
            focus: bold,
            held: plain,
            stale: plain,
            negative: plain,
            loaded: plain,
            coalesced: plain,
            rejected: bold,
            failed: bold,
        }
    }

    pub(super) fn severity(&self, severity: Severity) -> Style {
        match severity {
            Severity::Critical => self.critical,
            Severity::Warn => self.warn,
            Severity::Info => self.info,
        }
    }

    pub(super) fn outcome(&self, row: Row) -> Style {
        match row {
            Row::Hit => self.good,
            Row::Stale => self.stale,
            Row::Negative => self.negative,
            Row::Loaded => self.loaded,
            Row::Coalesced => self.coalesced,
            Row::Rejected => self.rejected,
            Row::Failed => self.failed,
        }
    }

    pub(super) fn end(&self, end: FlightEnd) -> Style {
        match end {
            FlightEnd::Loaded | FlightEnd::NotModified | FlightEnd::SharedHit | FlightEnd::Followed => self.good,
            FlightEnd::Absent | FlightEnd::Discarded => self.negative,
            FlightEnd::Failed | FlightEnd::Deadline | FlightEnd::Panicked | FlightEnd::Abandoned => self.failed,
            FlightEnd::Rejected | FlightEnd::Closed => self.rejected,
        }
    }
}
