//! The outcome panel: seven rates with their past.

use herdfeed::{Histogram, OriginResult, Outcome};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::row::RowText;
use super::{Ink, frame, spark};
use crate::figures::{count, micros, number, percent};
use crate::model::{Model, Panel};
use crate::rows::RowId;
use crate::rows::flights::{self, Listed, Running};
use crate::rows::outcomes::{self, Overview, Row};
use crate::text::Align;

pub(super) fn draw(model: &Model, ink: &Ink, area: Rect, buf: &mut Buffer) {
    let overview = outcomes::overview(model.world());
    let extra = title(model, overview.as_ref(), area.width);
    let inner = frame::panel(model, ink, Panel::Outcomes, &extra, "", area, buf);
    rows(model, ink, overview.as_ref(), inner, buf);
}

pub(super) fn body(model: &Model, ink: &Ink, area: Rect, buf: &mut Buffer) {
    rows(model, ink, outcomes::overview(model.world()).as_ref(), area, buf);
}

/// Loads in progress and of how many keys: one of each is what single-flight makes of it.
fn loads(running: &Running) -> String {
    let keys = match (running.keys, running.listed) {
        (0, _) => return format!("loads {}", number(running.loads)),
        (keys, Listed::Part) => format!("{keys}+ keys"),
        (1, Listed::All) => "1 key".to_owned(),
        (keys, Listed::All) => format!("{keys} keys"),
    };
    format!("loads {} of {keys}", number(running.loads))
}

fn title(model: &Model, overview: Option<&Overview>, width: u16) -> String {
    let Some(overview) = overview else {
        return "req/s".to_owned();
    };
    let ten = &overview.ten;
    let mut text = format!("{} req/s", count(overview.total()));
    text = format!("{text}  {}", loads(&flights::running(model.world())));
    let joined = ten.outcomes[Outcome::Coalesced];
    let waited = joined.saturating_add(ten.outcomes[Outcome::Loaded]);
    if waited > 0 && width >= 68 {
        text = format!("{text}  coalesced {}", percent(joined as f64 / waited as f64));
    }
    let requests = ten.outcomes.total();
    if ten.origin_calls > 0 && width >= 84 {
        text = format!("{text}  exposure {}x", count(requests as f64 / ten.origin_calls as f64));
    }
    text
}

fn rows(model: &Model, ink: &Ink, overview: Option<&Overview>, area: Rect, buf: &mut Buffer) {
    let now_second = model.shown_now().mono_us / 1_000_000;
    let wide = area.width >= 84;
    let selected = model.cursor(Panel::Outcomes).selected;
    let total = overview.map_or(0.0, Overview::total);
    let mut line = 0;
    if wide && area.height > 7 {
        head(ink, area, buf);
        line = 1;
    }
    for row in Row::ALL {
        let style = ink.palette.outcome(row);
        let (letter, word) = row.label();
        let is_selected = model.focus == Panel::Outcomes && selected == Some(RowId::Outcome(row));
        let mut text = RowText::new(area.width, ink.glyphs.ellipsis);
        text.gap(1).text(&letter.to_string(), style).gap(1).column(word, 9, Align::Left, style);
        let rate = overview.map(|overview| overview.rate(row));
        text.column(&or_none(rate), 7, Align::Right, ink.palette.bold);
        if wide {
            for span in [60, 300] {
                let mean = outcomes::mean(model.world(), row, now_second, span);
                text.column(&or_none(mean), 7, Align::Right, ink.palette.plain);
            }
        }
        text.gap(1);
        let detail = overview.map(|overview| detail(overview, row)).unwrap_or_default();
        let detail_cells = if area.width >= 50 { 17 } else { 0 };
        let line_cells = text.left().saturating_sub(detail_cells + 7);
        let value = |second| outcomes::in_second(model.world(), row, second);
        text.column(&spark::line(ink, line_cells, now_second, value), line_cells, Align::Left, style);
        text.gap(1).column(&detail, detail_cells.saturating_sub(1), Align::Right, ink.palette.plain);
        let share = rate.filter(|_| total > 0.0).map_or_else(String::new, |rate| percent(rate / total));
        text.column(&share, 6, Align::Right, ink.palette.plain);
        text.put(area, line, if is_selected { ink.palette.selected } else { Style::new() }, buf);
        line += 1;
    }
}

fn head(ink: &Ink, area: Rect, buf: &mut Buffer) {
    let mut head = RowText::new(area.width, ink.glyphs.ellipsis);
    head.gap(12);
    for name in ["now", "1 min", "5 min"] {
        head.column(name, 7, Align::Right, ink.palette.dim);
    }
    head.put(area, 0, Style::new(), buf);
}

fn or_none(rate: Option<f64>) -> String {
    rate.map_or_else(|| "-".to_owned(), count)
}

/// What the last ten seconds say beside the rate.
fn detail(overview: &Overview, row: Row) -> String {
    let ten = &overview.ten;
    if row.count(&ten.outcomes) == 0 {
        return String::new();
    }
    let p99 = |name: &str, histogram: &Histogram| {
        histogram.quantile_us(0.99).map_or_else(String::new, |us| format!("{name} p99 {}", micros(us)))
    };
    match row {
        Row::Hit | Row::Negative => String::new(),
        Row::Stale => p99("age", &ten.stale_age),
        Row::Loaded => p99("call", &ten.origin_call),
        Row::Coalesced => p99("wait", &ten.wait),
        Row::Rejected => {
            let most = ten.rejections.iter().filter(|(_, count)| *count > 0).max_by_key(|(_, count)| *count);
            most.map_or_else(String::new, |(reason, _)| reason.to_string())
        }
        Row::Failed => {
            let bad = [OriginResult::Error, OriginResult::Timeout, OriginResult::Panicked];
            let most = bad.into_iter().map(|r| (r, ten.origin_results[r])).max_by_key(|(_, count)| *count);
            most.filter(|(_, count)| *count > 0).map_or_else(String::new, |(result, _)| result.to_string())
        }
    }
}
