//! Glyphs of width one, in Unicode and in ASCII.

use herdfeed::{FlightEnd, Severity, Stage};
use ratatui::symbols::border;

use crate::model::GlyphSet;

/// One set of glyphs.
pub(super) struct Glyphs {
    pub(super) up: char,
    pub(super) down: char,
    pub(super) critical: char,
    pub(super) warn: char,
    pub(super) info: char,
    pub(super) paused: &'static str,
    pub(super) selected: char,
    pub(super) ellipsis: char,
    pub(super) no_data: char,
    pub(super) full: char,
    pub(super) empty: char,
    pub(super) queued: char,
    pub(super) at_origin: char,
    pub(super) doomed: char,
    pub(super) crowd: char,
    pub(super) head: char,
    pub(super) ok: char,
    pub(super) failed: char,
    pub(super) refused: char,
    pub(super) arrow: &'static str,
    pub(super) levels: [char; 8],
    pub(super) live_border: border::Set<'static>,
    pub(super) held_border: border::Set<'static>,
}

const UNICODE: Glyphs = Glyphs {
    up: '●',
    down: '◌',
    critical: '▲',
    warn: '!',
    info: '○',
    paused: "‖",
    selected: '▸',
    ellipsis: '…',
    no_data: '·',
    full: '█',
    empty: '░',
    queued: '┄',
    at_origin: '━',
    doomed: '╌',
    crowd: '▒',
    head: '►',
    ok: '✓',
    failed: '✗',
    refused: '⊘',
    arrow: "→",
    levels: ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
    live_border: border::PLAIN,
    held_border: border::DOUBLE,
};

const ASCII: Glyphs = Glyphs {
    up: '*',
    down: 'o',
    critical: '!',
    warn: '!',
    info: '-',
    paused: "||",
    selected: '>',
    ellipsis: '~',
    no_data: '.',
    full: '#',
    empty: '.',
    queued: '-',
    at_origin: '=',
    doomed: '~',
    crowd: '%',
    head: '>',
    ok: 'v',
    failed: 'x',
    refused: '0',
    arrow: "->",
    levels: ['_', '.', ':', '-', '=', '+', '*', '#'],
    live_border: ascii_border("-", "|"),
    held_border: ascii_border("=", "|"),
};

const fn ascii_border(across: &'static str, down: &'static str) -> border::Set<'static> {
    border::Set {
        top_left: "+",
        top_right: "+",
        bottom_left: "+",
        bottom_right: "+",
        vertical_left: down,
        vertical_right: down,
        horizontal_top: across,
        horizontal_bottom: across,
    }
}

impl Glyphs {
    pub(super) fn of(set: GlyphSet) -> &'static Self {
        match set {
            GlyphSet::Unicode => &UNICODE,
            GlyphSet::Ascii => &ASCII,
        }
    }

    pub(super) fn severity(&self, severity: Severity) -> char {
        match severity {
            Severity::Critical => self.critical,
            Severity::Warn => self.warn,
            Severity::Info => self.info,
        }
    }

    /// What fills the lane of a flight that has come this far.
    pub(super) fn stage(&self, stage: Stage) -> char {
        match stage {
            Stage::Held | Stage::Queued | Stage::Shared | Stage::Following => self.queued,
            Stage::Doomed => self.doomed,
            Stage::Origin | Stage::Landed | Stage::Unknown => self.at_origin,
        }
    }

    /// What ends the lane of a landed flight.
    pub(super) fn end(&self, end: FlightEnd) -> char {
        match end {
            FlightEnd::Loaded
            | FlightEnd::NotModified
            | FlightEnd::Absent
            | FlightEnd::SharedHit
            | FlightEnd::Followed
            | FlightEnd::Discarded => self.ok,
            FlightEnd::Failed | FlightEnd::Deadline | FlightEnd::Panicked | FlightEnd::Abandoned => self.failed,
            FlightEnd::Rejected | FlightEnd::Closed => self.refused,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every glyph is one cell wide and no terminal draws it as an emoji.
    #[test]
    fn every_glyph_is_one_cell() {
        for glyphs in [&UNICODE, &ASCII] {
            let one = [
                glyphs.up,
                glyphs.down,
                glyphs.critical,
                glyphs.warn,
                glyphs.info,
                glyphs.selected,
                glyphs.ellipsis,
                glyphs.no_data,
                glyphs.full,
                glyphs.empty,
                glyphs.queued,
                glyphs.at_origin,
                glyphs.doomed,
                glyphs.crowd,
                glyphs.head,
                glyphs.ok,
                glyphs.failed,
                glyphs.refused,
            ];
            for glyph in one.into_iter().chain(glyphs.levels) {
                assert_eq!(crate::text::width(&glyph.to_string()), 1, "{glyph}");
            }
        }
        let ascii = Glyphs::of(GlyphSet::Ascii);
        assert!(ascii.levels.iter().chain([&ascii.head, &ascii.ok]).all(char::is_ascii));
    }
}
