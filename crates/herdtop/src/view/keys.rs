//! The hot-key panel.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::row::RowText;
use super::{Ink, frame};
use crate::figures::{count, micros, number, percent, seconds};
use crate::model::{Model, Panel};
use crate::rows::keys::{self, Row};
use crate::text::Align;

pub(super) fn draw(model: &Model, ink: &Ink, area: Rect, buf: &mut Buffer) {
    let rows = keys::rows(model);
    let note = format!("sort {}", model.cursor(Panel::Keys).sort.label(Panel::Keys));
    let inner = frame::panel(model, ink, Panel::Keys, "estimated over 30 to 60s", &note, area, buf);
    list(model, ink, &rows, inner, buf);
}

pub(super) fn body(model: &Model, ink: &Ink, area: Rect, buf: &mut Buffer) {
    list(model, ink, &keys::rows(model), area, buf);
}

/// A column: title, width, and its rank: on a narrow panel higher ranks go first.
const COLUMNS: [(&str, usize, u8); 8] = [
    ("REQ/S", 7, 0),
    ("SHARE", 7, 1),
    ("LOADS", 7, 2),
    ("COALESCED", 10, 6),
    ("STALE", 7, 5),
    ("LOAD", 8, 3),
    ("FRESH LEFT", 11, 4),
    ("AGE", 7, 7),
];
/// A key is worth more than a figure below this width.
const KEY_CELLS: usize = 18;

/// The rank up to which columns fit beside a key and its cache.
fn last_rank(width: usize, cache_cells: usize) -> u8 {
    let room = width.saturating_sub(KEY_CELLS + cache_cells + 2);
    let fits =
        |rank: u8| COLUMNS.iter().filter(|column| column.2 <= rank).map(|column| column.1).sum::<usize>() <= room;
    (0..8).rev().find(|rank| fits(*rank)).unwrap_or(0)
}

fn list(model: &Model, ink: &Ink, rows: &[Row], area: Rect, buf: &mut Buffer) {
    let cache_cells = if area.width >= 60 { 12 } else { 0 };
    let rank = last_rank(usize::from(area.width), cache_cells);
    let shown = || COLUMNS.iter().enumerate().filter(|(_, column)| column.2 <= rank);
    let figures: usize = shown().map(|(_, column)| column.1).sum();
    let key_cells = usize::from(area.width).saturating_sub(figures + cache_cells + 2);
    let mut head = RowText::new(area.width, ink.glyphs.ellipsis);
    head.gap(1).column("KEY", key_cells, Align::Left, ink.palette.dim).gap(1);
    head.column("CACHE", cache_cells, Align::Left, ink.palette.dim);
    for (_, (title, cells, _)) in shown() {
        head.column(title, *cells, Align::Right, ink.palette.dim);
    }
    head.put(area, 0, Style::new(), buf);
    if rows.is_empty() {
        let mut text = RowText::new(area.width, ink.glyphs.ellipsis);
        text.gap(1).text(frame::nothing(model, "no requests"), ink.palette.dim);
        text.put(area, 1, Style::new(), buf);
        return;
    }
    let selected = model.cursor(Panel::Keys).selected.filter(|_| model.focus == Panel::Keys);
    let place = selected.and_then(|id| rows.iter().position(|row| row.id() == id));
    let first = frame::scroll_to(place, usize::from(area.height.saturating_sub(1)));
    for (line, (index, row)) in (1..area.height).zip(rows.iter().enumerate().skip(first)) {
        let over = if place == Some(index) { ink.palette.selected } else { Style::new() };
        let mark = if place == Some(index) { ink.glyphs.selected } else { ' ' };
        let mut text = RowText::new(area.width, ink.glyphs.ellipsis);
        text.text(&mark.to_string(), ink.palette.plain);
        text.column(&model.key_text(&row.key), key_cells, Align::Left, ink.palette.plain).gap(1);
        text.column(&row.cache, cache_cells.saturating_sub(1), Align::Left, ink.palette.dim);
        text.gap(usize::from(cache_cells > 0));
        let figures = figures_of(row);
        for (place, (_, cells, _)) in shown() {
            let (figure, style) = (figures.get(place).map_or("", String::as_str), figure_style(ink, row, place));
            text.column(figure, *cells, Align::Right, style);
        }
        text.put(area, line, over, buf);
    }
}

/// In the order of [`COLUMNS`].
fn figures_of(row: &Row) -> [String; 8] {
    let fresh = match (row.fresh_left_us, row.stale_left_us) {
        (None, _) => "-".to_owned(),
        (Some(us @ 0..), _) => seconds(us.unsigned_abs()),
        (Some(_), Some(0..)) => "stale".to_owned(),
        (Some(_), _) => "expired".to_owned(),
    };
    [
        count(row.rate),
        percent(row.share),
        number(row.loads),
        number(row.coalesced),
        number(row.stale),
        if row.load_us == 0 { "-".to_owned() } else { micros(row.load_us) },
        fresh,
        row.age_us.map_or_else(|| "-".to_owned(), seconds),
    ]
}

fn figure_style(ink: &Ink, row: &Row, place: usize) -> Style {
    let is_past = row.fresh_left_us.is_some_and(|left| left < 0);
    match place {
        0 => ink.palette.bold,
        6 if is_past => ink.palette.warn,
        _ => ink.palette.plain,
    }
}
