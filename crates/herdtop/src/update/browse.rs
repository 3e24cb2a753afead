//! What keys do while the panels or a page have the keyboard.

use crate::filter::Filter;
use crate::keymap::Action;
use crate::model::{KeyDisplay, Mode, Model, Page, Panel, Paused};
use crate::msg::Command;
use crate::rows::{self, SortKey};

/// Carries out one action.
pub(super) fn act(model: &mut Model, action: Action) -> Option<Command> {
    match action {
        Action::Quit => return Some(Command::Quit),
        Action::Suspend => return Some(Command::Suspend),
        Action::Repaint => return Some(Command::Repaint),
        Action::Retry => return Some(Command::Retry),
        Action::Help => open(model, Page::Help),
        Action::Findings => open(model, Page::Findings),
        Action::Detail => detail(model),
        Action::Cancel => cancel(model),
        Action::Down => walk(model, Step::By(1)),
        Action::Up => walk(model, Step::By(-1)),
        Action::PageDown => walk(model, Step::By(10)),
        Action::PageUp => walk(model, Step::By(-10)),
        Action::Top => walk(model, Step::First),
        Action::Bottom => walk(model, Step::Last),
        Action::NextPanel => focus(model, turn(model.focus, 1)),
        Action::PreviousPanel => focus(model, turn(model.focus, Panel::ALL.len() - 1)),
        Action::Panel(panel) => focus(model, panel),
        Action::Filter => filter(model),
        Action::Sort => sort(model),
        Action::ReverseSort => reverse(model),
        Action::Pause => pause(model),
        Action::HideKeys => hide(model),
        Action::NextFinding => next_finding(model, 1),
        Action::PreviousFinding => next_finding(model, model.findings.len().saturating_sub(1)),
    }
    None
}

#[derive(Clone, Copy)]
enum Step {
    By(isize),
    First,
    Last,
}

impl Step {
    fn from(self, place: usize, last: usize) -> usize {
        match self {
            Self::By(rows) => place.saturating_add_signed(rows).min(last),
            Self::First => 0,
            Self::Last => last,
        }
    }
}

fn open(model: &mut Model, page: Page) {
    let is_open = matches!(&model.mode, Mode::Page { page: open, .. } if *open == page);
    model.mode = if is_open { Mode::Browse } else { Mode::Page { page, scroll: 0 } };
}

fn detail(model: &mut Model) {
    if let Mode::Page { .. } = model.mode {
        model.mode = Mode::Browse;
        return;
    }
    let ids = rows::ids(model, model.focus);
    let selected = model.cursor(model.focus).selected.filter(|id| ids.contains(id));
    if let Some(id) = selected.or_else(|| ids.into_iter().next()) {
        model.mode = Mode::Page { page: Page::Detail(id), scroll: 0 };
    }
}

/// Closes what is open; with nothing open it clears the filter.
fn cancel(model: &mut Model) {
    match model.mode {
        Mode::Page { .. } | Mode::Typing { .. } => model.mode = Mode::Browse,
        Mode::Browse => model.filter = Filter::default(),
    }
}

fn walk(model: &mut Model, step: Step) {
    if let Mode::Page { scroll, .. } = &mut model.mode {
        // The view stops at the last line; here only the far end is bounded.
        *scroll = step.from(*scroll, 10_000);
        return;
    }
    let panel = model.focus;
    let mut ids = rows::ids(model, panel);
    let Some(last) = ids.len().checked_sub(1) else { return };
    let selected = model.cursor(panel).selected;
    let place = selected.and_then(|id| ids.iter().position(|other| *other == id));
    let to = match place {
        Some(place) => step.from(place, last),
        None => step.from(0, last) * usize::from(!matches!(step, Step::By(1))),
    };
    model.cursors.entry(panel).or_default().selected = Some(ids.swap_remove(to));
}

fn turn(panel: Panel, by: usize) -> Panel {
    let place = Panel::ALL.iter().position(|other| *other == panel).unwrap_or(0);
    Panel::ALL.get((place + by) % Panel::ALL.len()).copied().unwrap_or(panel)
}

fn focus(model: &mut Model, panel: Panel) {
    model.focus = panel;
    if let Mode::Page { .. } = model.mode {
        model.mode = Mode::Browse;
    }
}

fn filter(model: &mut Model) {
    let text = model.filter.text().to_owned();
    model.mode = Mode::Typing { before: text.clone(), text };
}

fn sort(model: &mut Model) {
    let panel = model.focus;
    let cursor = model.cursors.entry(panel).or_default();
    // A cursor that was never touched stands at the first column of its panel.
    let keys = SortKey::of(panel);
    if !keys.iter().any(|(key, _)| *key == cursor.sort) {
        cursor.sort = keys.first().map_or(SortKey::Usual, |(key, _)| *key);
    }
    cursor.sort = cursor.sort.next(panel);
    cursor.held.clear();
    rows::hold(model);
}

fn reverse(model: &mut Model) {
    let cursor = model.cursors.entry(model.focus).or_default();
    cursor.direction = cursor.direction.turned();
    cursor.held.clear();
    rows::hold(model);
}

fn pause(model: &mut Model) {
    model.paused = match model.paused.take() {
        Some(_) => None,
        None => Some(Paused { world: model.live.clone(), at: model.now, frames: 0 }),
    };
    super::settle(model);
}

fn hide(model: &mut Model) {
    model.keys = match model.keys {
        KeyDisplay::Shown => KeyDisplay::Hidden,
        KeyDisplay::Hidden => KeyDisplay::Shown,
    };
}

fn next_finding(model: &mut Model, by: usize) {
    if !model.findings.is_empty() {
        model.finding = (model.finding + by) % model.findings.len();
    }
}
