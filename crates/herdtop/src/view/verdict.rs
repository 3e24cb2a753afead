//! The verdict line: the worst finding in one line, or the calm.
//!
//! What is only worth knowing is told beside the calm, as a hint. When the line is
//! too short the reason goes first, then the cure's explanations, then the start;
//! what is wrong and what to do stay.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::Ink;
use super::row::RowText;
use crate::figures::count;
use crate::model::{Link, Model};
use crate::rows::outcomes;
use crate::text;
use crate::verdict::{Finding, Kind};

/// Fewer cells of a cure than this are not worth drawing: the arrow and a word or two.
const LEAST_CURE: usize = 16;

/// A part of the line and how it is drawn.
type Part = (String, Style);

pub(super) fn draw(model: &Model, ink: &Ink, area: Rect, buf: &mut Buffer) {
    let mut row = RowText::new(area.width, ink.glyphs.ellipsis);
    let Some(finding) = model.findings.get(model.finding) else {
        let (text, style) = calm(model, ink);
        row.gap(1).text(&text, style);
        row.put(area, 0, Style::new(), buf);
        return;
    };
    let counter = match model.findings.len() {
        0 | 1 => String::new(),
        all => format!("[n] {}/{all} ", model.finding + 1),
    };
    row.gap(1);
    if is_calm(model) {
        row.text(&format!("{} calm", ink.glyphs.up), ink.palette.good).gap(2);
    }
    let room = row.left().saturating_sub(counter.len() + 1);
    for (text, style) in fitted(&parts(model, ink, finding), room) {
        let left = row.left().saturating_sub(counter.len() + 1);
        row.column(&text, text::width(&text::clean(&text)).min(left), text::Align::Left, style);
    }
    row.right(&counter, ink.palette.dim);
    row.put(area, 0, Style::new(), buf);
}

/// The same over several lines, for very small screens.
pub(super) fn wrapped(model: &Model, ink: &Ink, area: Rect, buf: &mut Buffer) {
    let Some(finding) = model.findings.get(model.finding) else {
        return draw(model, ink, area, buf);
    };
    let [head, figures, start, _why, (cure, style)] = parts(model, ink, finding);
    let fits = |cure: &&str| text::width(&text::clean(cure)) <= usize::from(area.width);
    let short = shorter(&cure).into_iter().find(fits).filter(|_| !fits(&cure.as_str()));
    let cure = (short.unwrap_or(&cure).to_owned(), style);
    let calm = (format!("{} calm  ", ink.glyphs.up), ink.palette.good);
    let first = if is_calm(model) { vec![calm, head] } else { vec![head] };
    let lines = [first, vec![figures, start], vec![cure]];
    for (line, parts) in (0..area.height).zip(lines) {
        let mut row = RowText::new(area.width, ink.glyphs.ellipsis);
        for (text, style) in parts {
            row.text(&text, style);
        }
        row.put(area, line, Style::new(), buf);
    }
}

/// Whether nothing that was found is trouble.
fn is_calm(model: &Model) -> bool {
    model.findings.iter().all(Finding::is_hint)
}

/// Head, figures, start, reason, cure.
fn parts(model: &Model, ink: &Ink, finding: &Finding) -> [Part; 5] {
    let palette = &ink.palette;
    let style = palette.severity(finding.severity);
    let now = model.shown_now().unix_us;
    let before = |text: &str, sign: &str| {
        if text.is_empty() { String::new() } else { format!("{sign}{text}") }
    };
    let start = finding.time(now);
    let processes = match finding.targets.len() {
        0 | 1 => String::new(),
        many => format!(" on {many}"),
    };
    let subject = subject(model, finding);
    let hint = if finding.is_hint() { "hint " } else { "" };
    [
        (format!("{} {} {subject}{processes}", ink.glyphs.severity(finding.severity), finding.kind.word()), style),
        (before(&finding.what, "  "), palette.bold),
        (before(&start, " "), palette.plain),
        (before(&finding.why, ": "), palette.plain),
        (before(&finding.cure, &format!("  {hint}{} ", ink.glyphs.arrow)), palette.good),
    ]
}

/// The subject, with its key hidden if keys are.
pub(super) fn subject(model: &Model, finding: &Finding) -> String {
    match (finding.kind, finding.subject.split_once(' ')) {
        (Kind::Stampede | Kind::Herd | Kind::HerdPassed | Kind::StaleBound, Some((cache, key))) => {
            // A long key must not push the figures off the line.
            let key = model.key_text(key);
            let cells = text::width(&text::clean(&key)).min(24);
            format!("{cache} {}", text::fit(&key, cells, text::Align::Left, '~'))
        }
        _ => finding.subject.clone(),
    }
}

/// Leaves out the reason, the cure's explanations from the last on, then the start, until the rest fits.
fn fitted(parts: &[Part; 5], room: usize) -> [Part; 5] {
    let width = |parts: &[Part; 5]| parts.iter().map(|(text, _)| text::width(&text::clean(text))).sum::<usize>();
    let without = |dropped: &[usize], cure: &str| {
        let mut parts = parts.clone();
        for place in dropped {
            parts[*place].0.clear();
        }
        cure.clone_into(&mut parts[4].0);
        parts
    };
    let cure = parts[4].0.clone();
    let shorter = shorter(&cure);
    let short = shorter.last().copied().unwrap_or(&cure);
    let mut tries = vec![without(&[], &cure), without(&[3], &cure)];
    tries.extend(shorter.iter().map(|cure| without(&[3], cure)));
    tries.extend(std::iter::once(cure.as_str()).chain(shorter.iter().copied()).map(|cure| without(&[2, 3], cure)));
    // A cure of which only a few letters are left says nothing.
    let mut last = without(&[2, 3], short);
    if room < width(&last) - text::width(&last[4].0) + LEAST_CURE {
        last[4].0.clear();
    }
    tries.into_iter().find(|parts| width(parts) <= room).unwrap_or(last)
}

/// The cure without its last explanation, without the last two, and so on.
fn shorter(cure: &str) -> Vec<&str> {
    let mut cuts: Vec<usize> = [": ", "; "].iter().flat_map(|sign| cure.match_indices(sign)).map(|cut| cut.0).collect();
    cuts.sort_unstable_by(|a, b| b.cmp(a));
    cuts.into_iter().map(|cut| &cure[..cut]).collect()
}

/// What is said when nothing is wrong.
fn calm(model: &Model, ink: &Ink) -> (String, Style) {
    let targets = &model.world().targets;
    if targets.is_empty() {
        return (format!("{} no process yet: looking for feeds", ink.glyphs.down), ink.palette.dim);
    }
    if targets.iter().all(|target| target.link == Link::Connecting) {
        return (format!("{} connecting", ink.glyphs.down), ink.palette.dim);
    }
    let (requests, calls) = outcomes::last_minute(model.world(), model.shown_now().mono_us / 1_000_000);
    let stake = if requests < 1.0 {
        "  no requests in the last minute".to_owned()
    } else if calls < 1.0 {
        "  no origin call in the last minute".to_owned()
    } else {
        format!(
            "  exposure {}x: without its caches the origin would see {} times the calls",
            count(requests / calls),
            count(requests / calls)
        )
    };
    (format!("{} calm{stake}", ink.glyphs.up), ink.palette.good)
}
