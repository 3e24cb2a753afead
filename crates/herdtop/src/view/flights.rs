//! The flight panel: each load as a lane from its start to now.
//!
//! A stack of loads of one key is cut after a few lanes and counted, so that a
//! stampede of hundreds still leaves room for the rest.

mod lane;

use herdfeed::Stage;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::row::RowText;
use super::{Ink, frame};
use crate::figures::{micros, number};
use crate::model::{Model, Panel};
use crate::rows::flights::{self, Listed, Row};
use crate::text::Align;

/// The most lanes of one stack that are drawn.
const STACK: usize = 4;

/// What one line of the panel shows.
enum Shown<'a> {
    Lane(&'a Row),
    /// More loads of the same key than there are lanes.
    More(&'a Row, usize),
}

pub(super) fn draw(model: &Model, ink: &Ink, area: Rect, buf: &mut Buffer) {
    let rows = flights::rows(model);
    let cursor = model.cursor(Panel::Flights);
    let note = format!("sort {}", cursor.sort.label(Panel::Flights));
    let extra = format!("{} in progress", number(flights::in_progress(model)));
    let inner = frame::panel(model, ink, Panel::Flights, &extra, &note, area, buf);
    list(model, ink, &rows, inner, buf);
}

pub(super) fn body(model: &Model, ink: &Ink, area: Rect, buf: &mut Buffer) {
    list(model, ink, &flights::rows(model), area, buf);
}

/// Widths of the columns for a width of the panel.
struct Columns {
    key: usize,
    target: usize,
    lane: usize,
    state: usize,
}

impl Columns {
    fn of(width: u16) -> Self {
        let width = usize::from(width);
        let key = (width / 5).clamp(8, 32);
        let target = if width >= 90 { 12 } else { 0 };
        let state = if width >= 90 { 18 } else { 9 };
        // 1 mark, key, target, 5 waiters, 1 gap, lane, 1 gap, 6 age, 1 gap, state.
        let taken = 1 + key + target + 5 + 1 + 1 + 6 + 1 + state;
        Self { key, target, lane: width.saturating_sub(taken), state }
    }
}

fn list(model: &Model, ink: &Ink, rows: &[Row], area: Rect, buf: &mut Buffer) {
    let columns = Columns::of(area.width);
    let window_us = lane::window_us(rows);
    head(ink, &columns, window_us, area, buf);
    if rows.is_empty() {
        let mut text = RowText::new(area.width, ink.glyphs.ellipsis);
        text.gap(1).text(frame::nothing(model, "no load in progress"), ink.palette.dim);
        text.put(area, 1, Style::new(), buf);
        return;
    }
    let selected = model.cursor(Panel::Flights).selected.filter(|_| model.focus == Panel::Flights);
    let is_selected = |row: &Row| selected.as_ref() == Some(&row.id());
    let lines = lines(rows, usize::from(area.height.saturating_sub(2)).clamp(1, STACK), is_selected);
    let place = lines.iter().position(|line| matches!(line, Shown::Lane(row) if is_selected(row)));
    let first = frame::scroll_to(place, usize::from(area.height.saturating_sub(1)));
    for (line, (index, shown)) in (1..area.height).zip(lines.iter().enumerate().skip(first)) {
        let over = if place == Some(index) { ink.palette.selected } else { Style::new() };
        match shown {
            Shown::Lane(row) => lane(model, ink, row, &columns, window_us, (area, line), over, buf),
            Shown::More(row, more) => {
                let mut text = RowText::new(area.width, ink.glyphs.ellipsis);
                let style = ink.palette.severity(severity(row));
                text.gap(1).text(&more_text(model, row, *more), style);
                text.put(area, line, over, buf);
            }
        }
    }
}

fn more_text(model: &Model, row: &Row, more: usize) -> String {
    let key = model.key_text(&row.flight.key);
    match row.listed {
        Listed::All => format!("+{more} more loads of {key} in parallel"),
        Listed::Part => format!("+{more} or more loads of {key} in parallel"),
    }
}

/// A plus where the process does not list all of its flights.
fn at_least(row: &Row) -> &'static str {
    match row.listed {
        Listed::All => "",
        Listed::Part => "+",
    }
}

fn severity(row: &Row) -> herdfeed::Severity {
    if row.parallel > 1 { herdfeed::Severity::Critical } else { herdfeed::Severity::Info }
}

/// The first lanes of each stack, and how many more there are.
fn lines(rows: &[Row], most: usize, is_selected: impl Fn(&Row) -> bool) -> Vec<Shown<'_>> {
    let mut lines = Vec::new();
    let same = |a: &Row, b: &Row| a.target == b.target && a.cache == b.cache && a.flight.key == b.flight.key;
    for stack in rows.chunk_by(same) {
        let room = if stack.len() > most + 1 { most } else { stack.len() };
        let (shown, hidden) = stack.split_at(room);
        lines.extend(shown.iter().map(Shown::Lane));
        lines.extend(hidden.iter().filter(|row| is_selected(row)).map(Shown::Lane));
        let flying = hidden.iter().filter(|row| row.landed_ago_us.is_none()).count();
        if let (Some(row), true) = (hidden.first(), flying > 0) {
            lines.push(Shown::More(row, flying));
        }
    }
    lines
}

fn head(ink: &Ink, columns: &Columns, window_us: u64, area: Rect, buf: &mut Buffer) {
    let dim = ink.palette.dim;
    let mut text = RowText::new(area.width, ink.glyphs.ellipsis);
    text.gap(1).column("KEY", columns.key, Align::Left, dim);
    text.column("PROCESS", columns.target, Align::Left, dim);
    text.column("WAIT", 5, Align::Right, dim).gap(1);
    text.column(&lane::scale(columns.lane, window_us), columns.lane, Align::Left, dim);
    text.gap(1).column("AGE", 6, Align::Right, dim).gap(1).column("STATE", columns.state, Align::Left, dim);
    text.put(area, 0, Style::new(), buf);
}

#[expect(clippy::too_many_arguments, reason = "a line is drawn from all of these and nothing else")]
fn lane(
    model: &Model,
    ink: &Ink,
    row: &Row,
    columns: &Columns,
    window_us: u64,
    (area, line): (Rect, u16),
    over: Style,
    buf: &mut Buffer,
) {
    let mark = if over == Style::new() { ' ' } else { ink.glyphs.selected };
    let style = style(ink, row);
    let mut text = RowText::new(area.width, ink.glyphs.ellipsis);
    text.text(&mark.to_string(), ink.palette.plain);
    let key_cells = columns.key.saturating_sub(1);
    text.column(&model.key_text(&row.flight.key), key_cells, Align::Left, ink.palette.plain).gap(1);
    text.column(&row.target_name, columns.target.saturating_sub(1), Align::Left, ink.palette.dim);
    text.gap(usize::from(columns.target > 0));
    let waiters = if row.flight.waiters == 0 { String::new() } else { number(row.flight.waiters) };
    let crowd = if row.is_herd() { ink.palette.warn } else { ink.palette.plain };
    text.column(&waiters, 5, Align::Right, crowd).gap(1);
    text.column(&lane::cells(ink, row, columns.lane, window_us), columns.lane, Align::Left, style);
    text.gap(1).column(&micros(row.age_us()), 6, Align::Right, ink.palette.plain);
    text.gap(1).column(&state(row, columns.state), columns.state, Align::Left, style);
    text.put(area, line, over, buf);
}

fn style(ink: &Ink, row: &Row) -> Style {
    match row.flight.end {
        Some(end) => ink.palette.end(end),
        None if row.parallel > 1 => ink.palette.critical,
        None if row.is_herd() => ink.palette.warn,
        None => ink.palette.info,
    }
}

/// How far it came and why it was needed; in a narrow column only how far.
fn state(row: &Row, cells: usize) -> String {
    let cause = row.flight.cause.map_or_else(|| row.flight.trigger.to_string(), |cause| cause.to_string());
    let word = match (row.flight.end, row.flight.stage) {
        (Some(end), _) => end.to_string(),
        (None, Stage::Held) => "held".into(),
        (None, Stage::Queued) => "queued".into(),
        (None, Stage::Doomed) => "doomed".into(),
        (None, Stage::Shared) => "shared".into(),
        (None, Stage::Following) => "follows".into(),
        (None, Stage::Origin | Stage::Landed | Stage::Unknown) if row.parallel > 1 => {
            format!("x{}{}", row.parallel, at_least(row))
        }
        (None, Stage::Origin) if row.is_herd() => "herd".into(),
        (None, Stage::Origin) => "origin".into(),
        (None, Stage::Landed | Stage::Unknown) => "?".into(),
    };
    if cells < 18 { word } else { format!("{word:<8} {cause}") }
}
