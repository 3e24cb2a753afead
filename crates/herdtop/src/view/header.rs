//! The top line: is this live, how many processes are up, what is lost, what time is it.
//!
//! Nothing here changes on an idle screen but the clock: a lag is shown only
//! when it is worth a word.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::Ink;
use super::row::RowText;
use crate::figures::{micros, number, seconds, sum, time_of_day};
use crate::model::{KeyDisplay, Link, Model, Target};

/// A feed that is this late is worth a word.
pub(super) const LATE_US: u64 = 1_000_000;

pub(super) fn draw(model: &Model, ink: &Ink, area: Rect, buf: &mut Buffer) {
    let palette = &ink.palette;
    let mut row = RowText::new(area.width, ink.glyphs.ellipsis);
    row.gap(1).text("herdtop", palette.bold).gap(1);
    match &model.paused {
        Some(paused) => {
            row.text(&format!("{} PAUSED +{} frames", ink.glyphs.paused, number(paused.frames)), palette.held)
        }
        None => row.text(&format!("{} LIVE", ink.glyphs.up), palette.good),
    };
    let targets = &model.world().targets;
    let up = targets.iter().filter(|target| target.is_up()).count();
    let style = if up == targets.len() { palette.plain } else { palette.warn };
    row.gap(2).text(&format!("{up}/{} up", targets.len()), style);
    if let Some((name, lag)) = latest(model) {
        row.gap(2).text(&format!("lag {} {name}", micros(lag)), palette.warn);
    }
    let lost = losses(model);
    if !lost.is_empty() {
        row.gap(2).text(&lost, palette.warn);
    }
    if model.keys == KeyDisplay::Hidden {
        row.gap(2).text("keys hidden", palette.info);
    }
    if !model.filter.is_empty() {
        row.gap(2).text(&format!("/{}", model.filter.text()), palette.info);
    }
    let now = model.shown_now().unix_us;
    row.right(&format!("{} UTC ", time_of_day(now)), palette.plain);
    row.put(area, 0, Style::new(), buf);
}

/// The process whose feed is the latest, if it is late.
fn latest(model: &Model) -> Option<(&str, u64)> {
    let now = model.shown_now();
    let is_open = |target: &Target| matches!(target.link, Link::Up | Link::Silent { .. });
    let lag = |target: &'_ Target| if is_open(target) { target.lag_us(now) } else { None };
    let late = model.world().targets.iter().filter_map(|target| Some((target.name.as_str(), lag(target)?)));
    late.filter(|(_, lag)| *lag > LATE_US).max_by_key(|(_, lag)| *lag)
}

/// Everything that did not arrive: `drop 17 events` and so on.
fn losses(model: &Model) -> String {
    let world = model.world();
    let missed = sum(world.targets.iter().map(|target| target.missed_events));
    let bad = sum(world.targets.iter().map(|target| target.bad_lines));
    let parts =
        [(world.drops.snapshots, "frames"), (world.drops.events.saturating_add(missed), "events"), (bad, "bad lines")];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", number(*count)))
        .collect();
    if parts.is_empty() { String::new() } else { format!("drop {}", parts.join(", ")) }
}

/// How a link stands, in a few cells.
pub(super) fn link_text(ink: &Ink, state: &Link, now_mono_us: u64) -> (String, Style) {
    match state {
        Link::Connecting => (format!("{} connecting", ink.glyphs.down), ink.palette.dim),
        Link::Up => (format!("{} up", ink.glyphs.up), ink.palette.good),
        Link::Silent { since_us } => {
            let silent = seconds(now_mono_us.saturating_sub(*since_us));
            (format!("{} silent {silent}", ink.glyphs.down), ink.palette.warn)
        }
        Link::Waiting { retry_at_us, .. } => {
            let left = retry_at_us.saturating_sub(now_mono_us).div_ceil(1_000_000);
            let text = match left {
                0 => "retrying".to_owned(),
                1..=60 => format!("retry in {left}s"),
                _ => "failed".to_owned(),
            };
            (format!("{} {text}", ink.glyphs.down), ink.palette.warn)
        }
        Link::Gone { .. } => (format!("{} gone", ink.glyphs.down), ink.palette.dim),
    }
}
