//! The fleet panel: the processes and how they differ.

use herdfeed::ProtectionLevel;
use herdfeed::words::ClosedSet;
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
use crate::text::Align;

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
    let name_cells = name_cells(area);
    let state_cells = state_cells(rows);
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
        one(model, ink, row, state_cells, (area, line), over, buf);
    }
}

/// A countdown needs more room than `up`; while all are up the room goes to the protection.
fn state_cells(rows: &[Row]) -> usize {
    let all_up = rows.iter().all(|row| row.link == Link::Up && row.lag_us.is_none_or(|lag| lag <= LATE_US));
    if all_up { 6 } else { 14 }
}

fn name_cells(area: Rect) -> usize {
    (usize::from(area.width) / 3).clamp(8, 24)
}

fn one(
    model: &Model,
    ink: &Ink,
    row: &Row,
    state_cells: usize,
    (area, line): (Rect, u16),
    over: Style,
    buf: &mut Buffer,
) {
    let now = model.shown_now();
    let mut text = RowText::new(area.width, ink.glyphs.ellipsis);
    let (mut state, mut style) = header::link_text(ink, &row.link, now.mono_us);
    if let Some(lag) = row.lag_us.filter(|lag| row.link == Link::Up && *lag > LATE_US) {
        (state, style) = (format!("{} late {}", ink.glyphs.down, micros(lag)), ink.palette.warn);
    }
    text.gap(1)
        .column(&row.name, name_cells(area), Align::Left, ink.palette.plain)
        .gap(1)
        .column(&state, state_cells, Align::Left, style)
        .column(&row.rate.map_or_else(|| "-".to_owned(), count), 6, Align::Right, ink.palette.plain)
        .gap(1);
    for (remark, style) in remarks(ink, row, text.left()) {
        text.text(&remark, style).gap(1);
    }
    text.put(area, line, over, buf);
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
        let names: Vec<&str> = row.off.iter().map(|measure| measure.label()).collect();
        let all = format!("off: {}", names.join(" "));
        let short = format!("off: {} measures", names.len());
        remarks.push((if all.len() <= room || names.len() == 1 { all } else { short }, palette.warn));
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
