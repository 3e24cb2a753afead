//! The event panel, newest at the top.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::row::RowText;
use super::{Ink, frame};
use crate::figures::{number, time_of_day};
use crate::model::{Entry, Model, Panel};
use crate::rows::RowId;
use crate::rows::events::{rows, told};
use crate::text::Align;

pub(super) fn draw(model: &Model, ink: &Ink, area: Rect, buf: &mut Buffer) {
    let entries = rows(model);
    let inner = frame::panel(model, ink, Panel::Events, &number(entries.len() as u64), "", area, buf);
    list(model, ink, &entries, inner, buf);
}

pub(super) fn body(model: &Model, ink: &Ink, area: Rect, buf: &mut Buffer) {
    list(model, ink, &rows(model), area, buf);
}

/// The newest event alone.
pub(super) fn line(model: &Model, ink: &Ink, area: Rect, buf: &mut Buffer) {
    if let Some(entry) = rows(model).first() {
        one(model, ink, entry, area, 0, Style::new(), buf);
    }
}

fn list(model: &Model, ink: &Ink, entries: &[&Entry], area: Rect, buf: &mut Buffer) {
    if entries.is_empty() {
        let mut text = RowText::new(area.width, ink.glyphs.ellipsis);
        text.gap(1).text(frame::nothing(model, "nothing yet"), ink.palette.dim);
        text.put(area, 0, Style::new(), buf);
        return;
    }
    let selected = model.cursor(Panel::Events).selected.filter(|_| model.focus == Panel::Events);
    let place = selected.and_then(|id| entries.iter().position(|entry| RowId::Event(entry.number) == id));
    let first = frame::scroll_to(place, usize::from(area.height));
    for (line, (index, entry)) in (0..area.height).zip(entries.iter().enumerate().skip(first)) {
        let over = if place == Some(index) { ink.palette.selected } else { Style::new() };
        one(model, ink, entry, area, line, over, buf);
    }
}

fn one(model: &Model, ink: &Ink, entry: &Entry, area: Rect, line: u16, over: Style, buf: &mut Buffer) {
    let told = told(entry);
    let severity = entry.severity();
    let mut text = RowText::new(area.width, ink.glyphs.ellipsis);
    text.gap(1).text(&time_of_day(entry.unix_us), ink.palette.dim).gap(1);
    let name_cells = (usize::from(area.width) / 8).clamp(6, 14);
    text.column(&entry.target, name_cells, Align::Left, ink.palette.dim).gap(1);
    text.text(&ink.glyphs.severity(severity).to_string(), ink.palette.severity(severity)).gap(1);
    text.text(told.kind, ink.palette.severity(severity)).gap(1);
    if !told.subject.is_empty() {
        text.text(&told.subject, ink.palette.plain).gap(1);
    }
    if let Some(key) = &told.key {
        let key = model.key_text(key);
        let cells = crate::text::width(&crate::text::clean(&key)).min(usize::from(area.width) / 4);
        text.column(&key, cells, Align::Left, ink.palette.bold).gap(1);
    }
    text.text(&told.figures, ink.palette.plain);
    text.put(area, line, over, buf);
}
