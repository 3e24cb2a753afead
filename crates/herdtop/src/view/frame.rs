//! Borders and titles of the panels, and the tabs of the small screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::{Block, Widget};

use super::Ink;
use super::row::RowText;
use crate::model::{Model, Panel, Target};
use crate::text::{self, Align};

/// Draws the border of `panel` and gives what is inside.
pub(super) fn panel(
    model: &Model,
    ink: &Ink,
    which: Panel,
    extra: &str,
    note: &str,
    area: Rect,
    buf: &mut Buffer,
) -> Rect {
    let area = area.intersection(buf.area);
    if area.width < 3 || area.height < 2 {
        return Rect::ZERO;
    }
    let (number, name) = which.title();
    let room = usize::from(area.width.saturating_sub(4));
    let mut title = format!(" {number} {name} ");
    if !extra.is_empty() {
        title = format!("{title} {extra} ");
    }
    let style = border_style(model, ink, which);
    let cut = |content: &str| {
        let cells = text::width(&text::clean(content)).min(room);
        text::fit(content, cells, Align::Left, ink.glyphs.ellipsis)
    };
    let mut block =
        Block::bordered().border_set(border(model, ink)).border_style(style).title(Line::styled(cut(&title), style));
    if !note.is_empty() {
        block = block.title_bottom(Line::styled(cut(&format!(" {note} ")), ink.palette.dim).right_aligned());
    }
    let inner = block.inner(area);
    block.render(area, buf);
    inner
}

/// A border says by its kind whether the picture is live.
pub(super) fn border(model: &Model, ink: &Ink) -> ratatui::symbols::border::Set<'static> {
    if model.paused.is_some() { ink.glyphs.held_border } else { ink.glyphs.live_border }
}

fn border_style(model: &Model, ink: &Ink, which: Panel) -> Style {
    match (model.paused.is_some(), model.focus == which) {
        (true, _) => ink.palette.held,
        (false, true) => ink.palette.focus,
        (false, false) => ink.palette.dim,
    }
}

/// The first row to draw so that the selected one is among `height` rows.
pub(super) fn scroll_to(selected: Option<usize>, height: usize) -> usize {
    selected.map_or(0, |place| (place + 1).saturating_sub(height))
}

/// What an empty list says: that nobody is there, or the filter, may be the reason.
pub(super) fn nothing(model: &Model, usual: &'static str) -> &'static str {
    if !model.world().targets.iter().any(Target::is_up) {
        return "no process is up";
    }
    if model.filter.is_empty() { usual } else { "no row matches the filter" }
}

/// ` [3 Flights] 4 Hot keys …`
pub(super) fn tab_bar(model: &Model, ink: &Ink, area: Rect, buf: &mut Buffer) {
    let mut row = RowText::new(area.width, ink.glyphs.ellipsis);
    for which in Panel::ALL {
        let (number, name) = which.title();
        // The long title would push the last tab off a narrow screen.
        let name = if which == Panel::Permits { "Origin" } else { name };
        if which == model.focus {
            row.text(&format!("[{number} {name}]"), ink.palette.focus);
        } else {
            row.text(&format!(" {number} {name} "), ink.palette.plain);
        }
    }
    row.put(area, 0, Style::new(), buf);
}
