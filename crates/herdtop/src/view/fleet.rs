//! The fleet panel: the processes and how they differ.

use herdfeed::{Measure, ProtectionLevel};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::header::LATE_US;
use super::row::RowText;
use super::{Ink, frame, header};
use crate::figures::{count, micros, number};
use crate::model::{Link, Model, Panel};
use crate::rows::fleet::{self, Row};
use crate::rows::{RowId, SortKey};
use crate::text::{self, Align};
use crate::verdict;

pub(super) fn draw(model: &Model, ink: &Ink, area: Rect, buf: &mut Buffer) {
    let rows = fleet::rows(model);
    let up = rows.iter().filter(|row| row.link == Link::Up).count();
    let sort = model.cursor(Panel::Fleet).sort;
    let note = if sort == SortKey::Usual { String::new() } else { format!("sort {}", sort.label(Panel::Fleet)) };
    let inner = frame::panel(model, ink, Panel::Fleet, &format!("{up} of {} up", rows.len()), &note, area, buf);
    list(model, ink, &rows, inner, buf);
}

pub(super) fn body(model: &Model, ink: &Ink, area: Rect, buf: &mut Buffer) {
    list(model, ink, &fleet::rows(model), area, buf);
}

fn list(model: &Model, ink: &Ink, rows: &[Row], area: Rect, buf: &mut Buffer) {
    let mut head = RowText::new(area.width, ink.glyphs.ellipsis);
    let name_cells = name_cells(area, rows);
    let state_cells = state_cells(ink, rows, model.shown_now().mono_us);
    head.gap(1)
        .column("PROCESS", name_cells, Align::Left, ink.palette.dim)
        .gap(1)
        .column("STATE", state_cells, Align::Left, ink.palette.dim)
        .column("REQ/S", 6, Align::Right, ink.palette.dim)
        .gap(1)
        .text("PROTECTION", ink.palette.dim);
    head.put(area, 0, Style::new(), buf);
    let selected = model.cursor(Panel::Fleet).selected;
    let place = selected.and_then(|id| rows.iter().position(|row| RowId::Target(row.id) == id));
    let height = usize::from(area.height.saturating_sub(1));
    let first = frame::scroll_to(place, height);
    for (line, (index, row)) in (1..area.height).zip(rows.iter().enumerate().skip(first)) {
        let over =
            if model.focus == Panel::Fleet && place == Some(index) { ink.palette.selected } else { Style::new() };
        one(model, ink, row, (name_cells, state_cells), (area, line), over, buf);
    }
}

/// What to say of a process's link.
fn state(ink: &Ink, row: &Row, now_mono_us: u64) -> (String, Style) {
    match row.lag_us.filter(|lag| row.link == Link::Up && *lag > LATE_US) {
        Some(lag) => (format!("{} late {}", ink.glyphs.down, micros(lag)), ink.palette.warn),
        None => header::link_text(ink, &row.link, now_mono_us),
    }
}

/// As wide as the longest needs: while all are up the room goes to the protection.
fn state_cells(ink: &Ink, rows: &[Row], now_mono_us: u64) -> usize {
    let widest = rows.iter().map(|row| text::width(&state(ink, row, now_mono_us).0) + 1).max().unwrap_or(0);
    widest.clamp(6, 14)
}

/// As wide as the widest name needs, up to a third: the rest is for what sets a process apart.
fn name_cells(area: Rect, rows: &[Row]) -> usize {
    let widest = rows.iter().map(|row| text::width(&text::clean(&row.name))).max().unwrap_or(0);
    widest.clamp(7, (usize::from(area.width) / 3).clamp(7, 24))
}

fn one(
    model: &Model,
    ink: &Ink,
    row: &Row,
    (name_cells, state_cells): (usize, usize),
    (area, line): (Rect, u16),
    over: Style,
    buf: &mut Buffer,
) {
    let now = model.shown_now();
    let mut text = RowText::new(area.width, ink.glyphs.ellipsis);
    let (state, style) = state(ink, row, now.mono_us);
    text.gap(1)
        .column(&row.name, name_cells, Align::Left, ink.palette.plain)
        .gap(1)
        .column(&state, state_cells, Align::Left, style)
        .column(&row.rate.map_or_else(|| "-".to_owned(), count), 6, Align::Right, ink.palette.plain)
        .gap(1);
    for (remark, style) in remarks(ink, row, text.left()) {
        text.text(&remark, style).gap(1);
    }
    text.put(area, line, over, buf);
}

/// Which measures are off, the weightiest first. Where there is no room for all, the first is told with the number of
/// the others; where there is none even for that, its beginning.
fn off(measures: &[Measure], room: usize) -> String {
    let names: Vec<&str> = verdict::by_weight(measures).collect();
    let first = names.first().copied().unwrap_or("");
    let more = names.len().saturating_sub(1);
    let last = format!("no {first}");
    let mut tries = vec![format!("off: {}", names.join(", "))];
    if more > 0 {
        tries.extend([format!("off: {first} +{more}"), format!("no {first} +{more}")]);
    }
    tries.into_iter().find(|text| text.len() <= room).unwrap_or(last)
}

/// Protection, then everything that sets this process apart.
fn remarks(ink: &Ink, row: &Row, room: usize) -> Vec<(String, Style)> {
    let palette = &ink.palette;
    let mut remarks = Vec::new();
    if let Link::Waiting { why, .. } = &row.link {
        remarks.push((why.clone(), palette.warn));
        return remarks;
    }
    if !row.off.is_empty() {
        remarks.push((off(&row.off, room), palette.warn));
    } else if let Some(level) = row.protection {
        let style = match level {
            ProtectionLevel::Cluster | ProtectionLevel::Process => palette.plain,
            ProtectionLevel::Degraded | ProtectionLevel::Observe => palette.warn,
        };
        remarks.push((level.to_string(), style));
    }
    if row.restarts > 0 {
        remarks.push((format!("restarts {}", row.restarts), palette.info));
    }
    if let Some(first) = row.drift.first() {
        let more = if row.drift.len() > 1 { format!(" +{}", row.drift.len() - 1) } else { String::new() };
        remarks.push((format!("differs: {first}{more}"), palette.warn));
    }
    if row.lost > 0 {
        remarks.push((format!("lost {}", number(row.lost)), palette.warn));
    }
    remarks
}
