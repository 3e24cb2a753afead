//! The permit panel: how full each gate is, who waits, and what the origin takes.

use herdfeed::Histogram;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::row::RowText;
use super::{Ink, frame, spark};
use crate::figures::{count, micros, number};
use crate::model::{Model, Panel};
use crate::rows::permits::{self, Limit, Row};
use crate::text::{self, Align};

/// How many lines a gate can take, the most telling first.
const LINES: [usize; 3] = [6, 2, 1];

pub(super) fn draw(model: &Model, ink: &Ink, area: Rect, buf: &mut Buffer) {
    let rows = permits::rows(model);
    let extra = match rows.as_slice() {
        [only] => format!("{} {}", only.gate.name, only.target_name),
        many => format!("{} gates", many.len()),
    };
    let inner = frame::panel(model, ink, Panel::Permits, &extra, "", area, buf);
    list(model, ink, &rows, inner, buf);
}

pub(super) fn body(model: &Model, ink: &Ink, area: Rect, buf: &mut Buffer) {
    list(model, ink, &permits::rows(model), area, buf);
}

fn list(model: &Model, ink: &Ink, rows: &[Row], area: Rect, buf: &mut Buffer) {
    if rows.is_empty() {
        let mut text = RowText::new(area.width, ink.glyphs.ellipsis);
        text.gap(1).text(frame::nothing(model, "no gate reported"), ink.palette.dim);
        text.put(area, 0, Style::new(), buf);
        return;
    }
    let selected = model.cursor(Panel::Permits).selected.filter(|_| model.focus == Panel::Permits);
    let place = selected.and_then(|id| rows.iter().position(|row| row.id() == id));
    let height = usize::from(area.height);
    let each =
        LINES.into_iter().find(|lines| rows.len() * lines <= height).unwrap_or(if rows.len() == 1 { 2 } else { 1 });
    let first = frame::scroll_to(place, height / each);
    for (slot, (index, row)) in (0..=height / each).zip(rows.iter().enumerate().skip(first)) {
        let Ok(line) = u16::try_from(slot * each) else { break };
        let over = if place == Some(index) { ink.palette.selected } else { Style::new() };
        match each {
            1 => short(ink, row, (area, line), over, buf),
            2 => {
                short(ink, row, (area, line), over, buf);
                times(ink, row, (area, line + 1), over, buf);
            }
            _ => whole(ink, row, rows.len(), (area, line), over, buf),
        }
    }
}

fn full_style(ink: &Ink, row: &Row) -> Style {
    let is_full = row.gate.limit > 0 && row.gate.used() >= row.gate.limit;
    if is_full { ink.palette.critical } else { ink.palette.good }
}

fn short(ink: &Ink, row: &Row, (area, line): (Rect, u16), over: Style, buf: &mut Buffer) {
    let gate = &row.gate;
    let mut text = RowText::new(area.width, ink.glyphs.ellipsis);
    let name_cells = (usize::from(area.width) / 3).min(26);
    text.gap(1)
        .column(&format!("{} {}", gate.name, row.target_name), name_cells, Align::Left, ink.palette.plain)
        .gap(1);
    match &row.limit {
        Limit::Off { running, .. } => {
            text.text(&format!("OFF {} calls run", number(*running)), ink.palette.warn).gap(1);
        }
        Limit::Holds => {
            let used = format!("{}/{}", number(gate.used()), number(gate.limit));
            text.column(&used, 9, Align::Right, ink.palette.bold).gap(1);
            let bar_cells = if area.width >= 50 { 8 } else { 5 };
            text.text(&spark::bar(ink, gate.used(), gate.limit, bar_cells), full_style(ink, row)).gap(1);
        }
    }
    let waiting = if gate.pending > 0 { ink.palette.warn } else { ink.palette.plain };
    let word = if area.width >= 50 { "queue" } else { "q" };
    text.text(&format!("{word} {}", number(gate.pending)), waiting).gap(1);
    if row.refused_per_s > 0.0 {
        text.text(&format!("refused {}/s", count(row.refused_per_s)), ink.palette.warn);
    }
    text.put(area, line, over, buf);
}

/// The second line of a short gate: what takes how long.
fn times(ink: &Ink, row: &Row, (area, line): (Rect, u16), over: Style, buf: &mut Buffer) {
    let p99 = |histogram: &Histogram| histogram.quantile_us(0.99).map_or_else(|| "-".to_owned(), micros);
    let mut text = RowText::new(area.width, ink.glyphs.ellipsis);
    text.gap(3).text(&format!("p99 permit {} call {}", p99(&row.wait), p99(&row.call)), ink.palette.plain);
    if row.connection_wait.count > 0 {
        let word = if area.width >= 50 { "connection" } else { "conn" };
        text.text(&format!(" {word} {}", p99(&row.connection_wait)), ink.palette.plain);
    }
    text.put(area, line, over, buf);
}

fn whole(ink: &Ink, row: &Row, gates: usize, (area, line): (Rect, u16), over: Style, buf: &mut Buffer) {
    let gate = &row.gate;
    let new = || RowText::new(area.width, ink.glyphs.ellipsis);
    let bar = |name: &str, used: u64, all: u64, style: Style, sign: &str| {
        let mut text = new();
        text.gap(1).column(name, 8, Align::Left, ink.palette.plain);
        text.column(&format!("{}/{}", number(used), number(all)), 10, Align::Right, ink.palette.bold).gap(1);
        let cells = text.left().saturating_sub(6);
        text.text(&spark::bar(ink, used, all, cells), style).gap(1).text(sign, style);
        text
    };
    if let Limit::Off { caches, running } = &row.limit {
        let mut text = new();
        text.gap(1).text(&unlimited(caches, *running), ink.palette.warn);
        text.put(area, line, over, buf);
    } else {
        let sign = if gate.limit > 0 && gate.used() >= gate.limit { "FULL" } else { "" };
        bar("in use", gate.used(), gate.limit, full_style(ink, row), sign).put(area, line, over, buf);
    }
    let sign = if gate.queue > 0 && gate.pending >= gate.queue { "FULL" } else { "" };
    let style = if gate.pending > 0 { ink.palette.warn } else { ink.palette.good };
    bar("queue", gate.pending, gate.queue, style, sign).put(area, line + 1, over, buf);

    let mut refused = new();
    refused.gap(1);
    let hot = if row.refused_per_s > 0.0 { ink.palette.warn } else { ink.palette.plain };
    refused.text(&format!("refused {}/s", count(row.refused_per_s)), hot).gap(2);
    refused.text(&format!("skipped {}  abandoned {}", number(gate.skipped), number(row.abandoned)), ink.palette.plain);
    refused.put(area, line + 2, over, buf);
    waits(
        ink,
        row,
        gates,
        Rect { y: area.y + line + 3, height: area.height.saturating_sub(line + 3), ..area },
        over,
        buf,
    );
}

/// What there is to say instead of a bar when nothing is limited.
fn unlimited(caches: &[String], running: u64) -> String {
    match caches {
        [] => format!("PERMITS OFF {} calls run without one", number(running)),
        some => format!("PERMITS OFF for {}, {} calls run", some.join(", "), number(running)),
    }
}

/// The last lines of a gate: what takes how long, and which gate it is if there are several.
fn waits(ink: &Ink, row: &Row, gates: usize, area: Rect, over: Style, buf: &mut Buffer) {
    let mut lines = vec![("permit wait", &row.wait), ("origin call", &row.call)];
    if row.connection_wait.count > 0 {
        lines.push(("connection ", &row.connection_wait));
    }
    for (line, (name, histogram)) in (0..).zip(lines) {
        let mut text = RowText::new(area.width, ink.glyphs.ellipsis);
        text.gap(1).text(&format!("{name} {}", quantiles(histogram)), ink.palette.plain);
        if line == 1 && gates > 1 {
            let name = text::clean(&format!("{} {}", row.gate.name, row.target_name));
            text.right(&name, ink.palette.dim);
        }
        text.put(area, line, over, buf);
    }
}

fn quantiles(histogram: &Histogram) -> String {
    let quantile = |q| histogram.quantile_us(q).map_or_else(|| "-".to_owned(), micros);
    format!("p50 {} p99 {}", quantile(0.5), quantile(0.99))
}
