//! The bottom: the filter while it is typed, a note, or the keys; above it the extra keys.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::Ink;
use super::row::RowText;
use crate::controls::ControlState;
use crate::filter::Filter;
use crate::keymap::BINDINGS;
use crate::model::{Mode, Model};
use crate::text;

pub(super) fn draw(model: &Model, ink: &Ink, area: Rect, buf: &mut Buffer) {
    let mut row = RowText::new(area.width, ink.glyphs.ellipsis);
    row.gap(1);
    match (&model.mode, &model.note) {
        (Mode::Typing { text, .. }, _) => typing(ink, text, &mut row),
        (Mode::Page { .. }, _) => {
            row.text("Esc close  j k scroll  q quit", ink.palette.dim);
        }
        (Mode::Browse, Some((note, _))) => {
            row.text(note, ink.palette.warn);
        }
        (Mode::Browse, None) => {
            for binding in BINDINGS.iter().filter(|binding| !binding.bar.is_empty()) {
                if row.left() > text::width(binding.bar) {
                    row.text(binding.bar, ink.palette.dim).gap(2);
                }
            }
        }
    }
    row.put(area, 0, Style::new(), buf);
}

fn typing(ink: &Ink, typed: &str, row: &mut RowText) {
    row.text(&format!("/{typed}"), ink.palette.bold).text(" ", ink.palette.selected).gap(2);
    match Filter::parse(typed) {
        Err(error) => row.text(&error.to_string(), ink.palette.critical),
        Ok(_) => row.text("Enter keep  Esc back  ? explains filters", ink.palette.dim),
    };
}

/// The extra keys as texts.
fn bar(model: &Model, ink: &Ink) -> Vec<(String, Style)> {
    let one = |control: &crate::controls::ControlBinding| match control.state {
        ControlState::On => (format!("{} {} {}", control.key, control.label, ink.glyphs.up), ink.palette.good),
        ControlState::Off => (format!("{} {} {}", control.key, control.label, ink.glyphs.down), ink.palette.warn),
        ControlState::Action => (format!("{} {}", control.key, control.label), ink.palette.info),
    };
    model.controls.iter().map(one).collect()
}

/// Lines that the extra keys need at this width; at most two.
pub(super) fn controls_height(model: &Model, width: u16) -> u16 {
    let cells = |control: &crate::controls::ControlBinding| text::width(&control.label) + 8;
    let all: usize = model.controls.iter().map(cells).sum();
    match all {
        0 => 0,
        all if all <= usize::from(width) => 1,
        _ => 2,
    }
}

pub(super) fn controls(model: &Model, ink: &Ink, area: Rect, buf: &mut Buffer) {
    let mut row = RowText::new(area.width, ink.glyphs.ellipsis);
    row.gap(1);
    let mut line = 0;
    for (control, style) in bar(model, ink) {
        let cells = text::width(&text::clean(&control));
        if row.left() < cells && line + 1 < area.height {
            let next = RowText::new(area.width, ink.glyphs.ellipsis);
            std::mem::replace(&mut row, next).put(area, line, Style::new(), buf);
            row.gap(1);
            line += 1;
        }
        row.text(&control, style).gap(2);
    }
    row.put(area, line, Style::new(), buf);
}
