//! The vital figures in three lines, for screens without room for all panels.

use herdfeed::GateSnapshot;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::row::RowText;
use super::{Ink, spark};
use crate::figures::{count, number, sum};
use crate::model::{Model, Target};
use crate::rows::outcomes::{self, Row};
use crate::text::Align;

/// Rates in two lines and the permits in a third.
pub(super) fn draw(model: &Model, ink: &Ink, area: Rect, buf: &mut Buffer) {
    let lines = [[Row::Hit, Row::Stale, Row::Loaded], [Row::Coalesced, Row::Rejected, Row::Failed]];
    let overview = outcomes::overview(model.world());
    let now_second = model.shown_now().mono_us / 1_000_000;
    let cells = usize::from(area.width).saturating_sub(1) / 3;
    for (line, rows) in (0..area.height).zip(lines) {
        let mut text = RowText::new(area.width, ink.glyphs.ellipsis);
        text.gap(1);
        for row in rows {
            let style = ink.palette.outcome(row);
            let rate = overview.as_ref().map_or_else(|| "-".to_owned(), |overview| count(overview.rate(row)));
            text.text(&row.label().0.to_string(), style).column(&rate, 6, Align::Right, ink.palette.bold).gap(1);
            let spark_cells = cells.saturating_sub(9);
            let value = |second| outcomes::in_second(model.world(), row, second);
            text.column(&spark::line(ink, spark_cells, now_second, value), spark_cells, Align::Left, style).gap(1);
        }
        text.put(area, line, Style::new(), buf);
    }
    permits(model, ink, area, buf);
}

fn permits(model: &Model, ink: &Ink, area: Rect, buf: &mut Buffer) {
    let gates = || model.world().targets.iter().flat_map(Target::gates);
    let (used, limit) = (sum(gates().map(GateSnapshot::used)), sum(gates().map(|gate| gate.limit)));
    let (pending, queue) = (sum(gates().map(|gate| gate.pending)), sum(gates().map(|gate| gate.queue)));
    let mut text = RowText::new(area.width, ink.glyphs.ellipsis);
    let full = if limit > 0 && used >= limit { ink.palette.critical } else { ink.palette.plain };
    if let Some(running) = crate::rows::permits::unlimited(model) {
        text.gap(1).text(&format!("permits OFF, {} calls run", number(running)), ink.palette.warn);
        text.gap(2).text(&format!("queue {}/{}", number(pending), number(queue)), ink.palette.plain);
    } else {
        text.gap(1).text(&format!("permits {}/{} ", number(used), number(limit)), full);
        text.text(&spark::bar(ink, used, limit, 8), full);
        text.gap(2).text(&format!("queue {}/{} ", number(pending), number(queue)), ink.palette.plain);
        text.text(&spark::bar(ink, pending, queue, 8), ink.palette.plain);
    }
    text.gap(2).text(&format!("flights {}", number(crate::rows::flights::in_progress(model))), ink.palette.plain);
    text.put(area, 2, Style::new(), buf);
}

/// Six counters, two to a line, for very small screens.
pub(super) fn counters(model: &Model, ink: &Ink, area: Rect, buf: &mut Buffer) {
    let overview = outcomes::overview(model.world());
    let lines = [[Row::Hit, Row::Stale], [Row::Loaded, Row::Coalesced], [Row::Rejected, Row::Failed]];
    for (line, rows) in (0..area.height).zip(lines) {
        let mut text = RowText::new(area.width, ink.glyphs.ellipsis);
        text.gap(1);
        for row in rows {
            let (letter, word) = row.label();
            let rate = overview.as_ref().map_or_else(|| "-".to_owned(), |overview| count(overview.rate(row)));
            text.text(&format!("{letter} {word:<9}"), ink.palette.outcome(row));
            text.column(&rate, 6, Align::Right, ink.palette.bold).text("/s", ink.palette.dim).gap(1);
        }
        text.put(area, line, Style::new(), buf);
    }
}
