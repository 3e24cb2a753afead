//! The view: the model as cells. Pure: it reads the model and writes a buffer.
//!
//! Three full sizes, two compact ones, then a message. Every panel bears any
//! rectangle, also an empty one. Style and glyphs are chosen only here; every
//! text that came over the wire passes [`crate::text`].

mod detail;
mod events;
mod fleet;
mod flights;
mod footer;
mod frame;
mod glyphs;
mod header;
mod keys;
mod outcomes;
mod pages;
mod palette;
mod permits;
mod row;
mod spark;
mod verdict;
mod vitals;

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;

use crate::model::{Mode, Model, Panel};
use glyphs::Glyphs;
use palette::Palette;

/// What every drawing function needs beside the model.
struct Ink {
    palette: Palette,
    glyphs: &'static Glyphs,
}

/// How much a terminal of a size can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    Full,
    Medium,
    Tabs,
    Compact,
    Tiny,
    TooSmall,
}

impl Size {
    fn of(area: Rect) -> Self {
        match (area.width, area.height) {
            (150.., 40..) => Self::Full,
            (100.., 28..) => Self::Medium,
            (80.., 24..) => Self::Tabs,
            (60.., 16..) => Self::Compact,
            (40.., 8..) => Self::Tiny,
            _ => Self::TooSmall,
        }
    }
}

/// Draws the whole screen into `area` of `buf`.
pub fn draw(model: &Model, area: Rect, buf: &mut Buffer) {
    let area = area.intersection(buf.area);
    if area.is_empty() {
        return;
    }
    let ink = Ink { palette: Palette::of(model.look.colors), glyphs: Glyphs::of(model.look.glyphs) };
    buf.set_style(area, Style::default());
    let size = Size::of(area);
    match size {
        Size::Full => full(model, &ink, area, buf),
        Size::Medium => medium(model, &ink, area, buf),
        Size::Tabs => tabs(model, &ink, area, buf),
        Size::Compact => compact(model, &ink, area, buf),
        Size::Tiny => tiny(model, &ink, area, buf),
        Size::TooSmall => return too_small(area, buf),
    }
    if let Mode::Page { page, scroll } = &model.mode {
        pages::draw(model, &ink, page, *scroll, area, buf);
    }
}

/// Header, verdict, body, extra keys if any, bottom bar.
fn shell(model: &Model, ink: &Ink, area: Rect, buf: &mut Buffer) -> Rect {
    let bar = footer::controls_height(model, area.width);
    let [head, verdict_line, body, controls, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(bar),
        Constraint::Length(1),
    ])
    .areas(area);
    header::draw(model, ink, head, buf);
    verdict::draw(model, ink, verdict_line, buf);
    footer::controls(model, ink, controls, buf);
    footer::draw(model, ink, foot, buf);
    body
}

fn full(model: &Model, ink: &Ink, area: Rect, buf: &mut Buffer) {
    let body = shell(model, ink, area, buf);
    let [top, middle, bottom] =
        Layout::vertical([Constraint::Length(10), Constraint::Fill(5), Constraint::Fill(4)]).areas(body);
    let columns = [Constraint::Fill(13), Constraint::Fill(8)];
    let [outcomes_area, fleet_area] = Layout::horizontal(columns).areas(top);
    let [flights_area, permits_area] = Layout::horizontal(columns).areas(middle);
    let [keys_area, events_area] = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas(bottom);
    outcomes::draw(model, ink, outcomes_area, buf);
    fleet::draw(model, ink, fleet_area, buf);
    flights::draw(model, ink, flights_area, buf);
    permits::draw(model, ink, permits_area, buf);
    keys::draw(model, ink, keys_area, buf);
    events::draw(model, ink, events_area, buf);
}

fn medium(model: &Model, ink: &Ink, area: Rect, buf: &mut Buffer) {
    let body = shell(model, ink, area, buf);
    // Two events without a border leave the lines to the flights; a taller screen has room for both.
    let is_tall = area.height >= 34;
    let [top, middle, bottom, log] = Layout::vertical([
        Constraint::Length(9),
        Constraint::Fill(1),
        Constraint::Length(7),
        Constraint::Length(if is_tall { 6 } else { 2 }),
    ])
    .areas(body);
    let columns = [Constraint::Fill(3), Constraint::Fill(2)];
    let [outcomes_area, fleet_area] = Layout::horizontal(columns).areas(top);
    let [flights_area, permits_area] = Layout::horizontal(columns).areas(middle);
    outcomes::draw(model, ink, outcomes_area, buf);
    fleet::draw(model, ink, fleet_area, buf);
    flights::draw(model, ink, flights_area, buf);
    permits::draw(model, ink, permits_area, buf);
    keys::draw(model, ink, bottom, buf);
    if is_tall {
        events::draw(model, ink, log, buf);
    } else {
        events::body(model, ink, log, buf);
    }
}

fn tabs(model: &Model, ink: &Ink, area: Rect, buf: &mut Buffer) {
    let body = shell(model, ink, area, buf);
    let [vitals_area, bar, main, last] =
        Layout::vertical([Constraint::Length(3), Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)])
            .areas(body);
    vitals::draw(model, ink, vitals_area, buf);
    frame::tab_bar(model, ink, bar, buf);
    panel(model, ink, model.focus, main, buf);
    events::line(model, ink, last, buf);
}

fn compact(model: &Model, ink: &Ink, area: Rect, buf: &mut Buffer) {
    let body = shell(model, ink, area, buf);
    let [vitals_area, bar, main] =
        Layout::vertical([Constraint::Length(3), Constraint::Length(1), Constraint::Min(0)]).areas(body);
    vitals::draw(model, ink, vitals_area, buf);
    frame::tab_bar(model, ink, bar, buf);
    let focus = model.focus;
    match focus {
        Panel::Outcomes => outcomes::body(model, ink, main, buf),
        Panel::Fleet => fleet::body(model, ink, main, buf),
        Panel::Flights => flights::body(model, ink, main, buf),
        Panel::Keys => keys::body(model, ink, main, buf),
        Panel::Permits => permits::body(model, ink, main, buf),
        Panel::Events => events::body(model, ink, main, buf),
    }
}

fn tiny(model: &Model, ink: &Ink, area: Rect, buf: &mut Buffer) {
    let [head, verdict_area, counters, rest, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(3),
        Constraint::Length(3),
        Constraint::Min(0),
        Constraint::Length(1),
    ])
    .areas(area);
    header::draw(model, ink, head, buf);
    verdict::wrapped(model, ink, verdict_area, buf);
    vitals::counters(model, ink, counters, buf);
    // Its head alone says nothing.
    if rest.height >= 2 {
        flights::body(model, ink, rest, buf);
    }
    footer::draw(model, ink, foot, buf);
}

fn too_small(area: Rect, buf: &mut Buffer) {
    // What to do first: of a very small screen only the beginning is seen.
    let text = format!("need 40x8 (is {}x{})", area.width, area.height);
    buf.set_stringn(area.x, area.y, text, usize::from(area.width), Style::default());
}

fn panel(model: &Model, ink: &Ink, which: Panel, area: Rect, buf: &mut Buffer) {
    match which {
        Panel::Outcomes => outcomes::draw(model, ink, area, buf),
        Panel::Fleet => fleet::draw(model, ink, area, buf),
        Panel::Flights => flights::draw(model, ink, area, buf),
        Panel::Keys => keys::draw(model, ink, area, buf),
        Panel::Permits => permits::draw(model, ink, area, buf),
        Panel::Events => events::draw(model, ink, area, buf),
    }
}
