//! Pages over the panels: help, findings, detail.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Widget};

use super::row::RowText;
use super::{Ink, detail, frame, verdict};
use crate::glossary::GLOSSARY;
use crate::keymap::{BINDINGS, FILTER_HELP};
use crate::model::{Model, Page};
use crate::text::{self, Align};

/// One line of a page.
pub(super) type PageLine = (String, Style);

pub(super) fn draw(model: &Model, ink: &Ink, page: &Page, scroll: usize, area: Rect, buf: &mut Buffer) {
    let (title, lines) = match page {
        Page::Help => ("Help", help(model, ink, area.width)),
        Page::Findings => ("Findings", findings(model, ink, area.width)),
        Page::Detail(id) => ("Detail", detail::lines(model, ink, id)),
    };
    let widest = lines.iter().map(|(line, _)| text::width(&text::clean(line))).max().unwrap_or(0);
    let place = centred(area, widest, lines.len());
    if place.width < 4 || place.height < 3 {
        return;
    }
    Clear.render(place, buf);
    let block = Block::bordered()
        .border_set(frame::border(model, ink))
        .border_style(ink.palette.focus)
        .title(Line::styled(format!(" {title} "), ink.palette.focus));
    let inner = block.inner(place);
    block.render(place, buf);
    let height = usize::from(inner.height);
    let first = scroll.min(lines.len().saturating_sub(height));
    for (line, (content, style)) in (0..inner.height).zip(lines.into_iter().skip(first)) {
        let mut row = RowText::new(inner.width, ink.glyphs.ellipsis);
        row.gap(1).text(&content, style);
        row.put(inner, line, Style::new(), buf);
    }
}

fn centred(area: Rect, widest: usize, lines: usize) -> Rect {
    let wanted = |cells: usize, most: u16| u16::try_from(cells).unwrap_or(u16::MAX).min(most);
    // The bottom line stays: it says how to close the page.
    let most_height = area.height.saturating_sub(1);
    let (width, height) = (wanted(widest + 4, area.width), wanted(lines + 2, most_height));
    Rect::new(area.x + (area.width - width) / 2, area.y + (most_height - height) / 2, width, height)
}

fn help(model: &Model, ink: &Ink, width: u16) -> Vec<PageLine> {
    let palette = &ink.palette;
    let mut lines: Vec<PageLine> =
        BINDINGS.iter().map(|binding| (format!("{:<12} {}", binding.shown, binding.help), palette.plain)).collect();
    if !model.controls.is_empty() {
        lines.push((String::new(), palette.plain));
        lines.push(("This demonstration:".into(), palette.bold));
        lines.extend(model.controls.iter().map(|c| (format!("{:<12} {}", c.key, c.label), palette.plain)));
    }
    lines.push((String::new(), palette.plain));
    lines.push(("Filters, joined by and:".into(), palette.bold));
    lines.extend(FILTER_HELP.iter().map(|line| ((*line).to_owned(), palette.plain)));
    lines.push((String::new(), palette.plain));
    lines.push(("Letters: H hit  S stale and reserve  N negative  L loaded  C coalesced".into(), palette.plain));
    lines.push(("X rejected, cooling, closed, fallback  E failed, timed out".into(), palette.plain));
    lines.push((String::new(), palette.plain));
    lines.push(("Words (times are UTC):".into(), palette.bold));
    lines.extend(words(width).into_iter().map(|line| (line, palette.plain)));
    lines
}

/// The glossary, its explanations one below the other.
fn words(width: u16) -> Vec<String> {
    const WORD: usize = 15;
    let room = usize::from(width).saturating_sub(WORD + 6).max(20);
    let one = |(word, meaning): &(&str, &str)| {
        let starts = std::iter::once(*word).chain(std::iter::repeat(""));
        starts.zip(wrap(meaning, room)).map(|(start, line)| format!("{start:<WORD$}{line}")).collect::<Vec<_>>()
    };
    GLOSSARY.iter().flat_map(one).collect()
}

fn findings(model: &Model, ink: &Ink, width: u16) -> Vec<PageLine> {
    let palette = &ink.palette;
    if model.findings.is_empty() {
        return vec![("nothing is wrong".into(), palette.good)];
    }
    let now = model.shown_now().unix_us;
    let room = usize::from(width).saturating_sub(8);
    let mut lines = Vec::new();
    for finding in &model.findings {
        let time = finding.time(now);
        let start = if time.is_empty() { time } else { format!("  {time}") };
        let glyph = ink.glyphs.severity(finding.severity);
        let subject = verdict::subject(model, finding);
        lines.push((format!("{glyph} {} {subject}{start}", finding.kind.word()), palette.severity(finding.severity)));
        let advice = format!("{} ", finding.advice());
        let parts = [
            ("", &finding.what, palette.bold),
            ("why  ", &finding.why, palette.plain),
            (advice.as_str(), &finding.cure, palette.good),
        ];
        for (name, content, style) in parts.into_iter().filter(|(_, content, _)| !content.is_empty()) {
            lines.extend(
                wrap(content, room.saturating_sub(name.len()))
                    .into_iter()
                    .map(|line| (format!("   {name}{line}"), style)),
            );
        }
        lines.push((format!("   on   {}", finding.targets.join(", ")), palette.dim));
    }
    lines
}

/// Words in lines of at most `width` cells; a longer word is cut.
fn wrap(content: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in content.split_whitespace() {
        let word = text::fit(word, text::width(&text::clean(word)).min(width), Align::Left, '~');
        match lines.last_mut() {
            Some(line) if text::width(line) + 1 + text::width(&word) <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}
