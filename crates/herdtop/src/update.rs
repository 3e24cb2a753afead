//! [`update`]: one message into the model. No I/O, no clock.

mod browse;
mod feed;

use crate::filter::{self, Filter};
use crate::model::{Direction, Mode, Model};
use crate::msg::{Command, Key, Msg};
use crate::{rows, verdict};

/// A note stays this long.
const NOTE_US: u64 = 5_000_000;

/// Takes one message in and says what the shell must do.
pub fn update(model: &mut Model, msg: Msg) -> Option<Command> {
    match msg {
        Msg::Tick(now) => tick(model, now),
        Msg::Key(key) => return press(model, key),
        Msg::Paste(text) => paste(model, &text),
        Msg::Resize { width, height } => model.size = (width, height),
        Msg::Feed { target, feed } => feed::take(model, target, feed),
        Msg::Dropped { snapshots, events } => {
            model.live.drops.snapshots = snapshots;
            model.live.drops.events = events;
        }
        Msg::Controls(controls) => model.controls = controls,
        Msg::Note(text) => note(model, text),
    }
    None
}

/// Judges the world anew and lets rows settle; to be called once after a batch of messages.
///
/// The live world is judged also while the picture is held: what is remembered of it must not stand still.
pub fn settle(model: &mut Model) {
    rows::hold(model);
    let found = verdict::findings(&model.live, model.now);
    let judged = model.memory.settle(found, &model.live, model.now);
    if model.paused.is_some() {
        return;
    }
    let chosen = model.findings.get(model.finding).cloned();
    let followed = model.finding > 0;
    model.findings = judged;
    // The first finding is always the worst one; another that was chosen stays chosen while it lasts.
    let place = chosen.filter(|_| followed).and_then(|old| model.findings.iter().position(|f| f.is_same(&old)));
    model.finding = place.unwrap_or(0);
}

fn tick(model: &mut Model, now: crate::clock::Now) {
    let gap_us = now.since_us(model.ticked_us);
    (model.now, model.ticked_us) = (now, now.mono_us);
    if model.note.as_ref().is_some_and(|(_, at)| now.since_us(*at) > NOTE_US) {
        model.note = None;
    }
    feed::forget(model);
    feed::listen(model, gap_us);
    settle(model);
}

fn note(model: &mut Model, text: String) {
    model.note = Some((text, model.now.mono_us));
}

fn paste(model: &mut Model, text: &str) {
    // Pasted text never acts as keys: outside the filter line it does nothing.
    if let Mode::Typing { text: typed, .. } = &mut model.mode {
        let room = filter::LONGEST.saturating_sub(typed.chars().count());
        typed.extend(text.chars().filter(|c| !c.is_control()).take(room));
        apply_typed(model);
    }
}

fn press(model: &mut Model, key: Key) -> Option<Command> {
    match &model.mode {
        Mode::Typing { .. } => typing(model, key),
        Mode::Browse => {
            if let Key::Char(c) = key
                && model.controls.iter().any(|control| control.key == c)
            {
                return Some(Command::Control(c));
            }
            browse::act(model, crate::keymap::action(key)?)
        }
        Mode::Page { .. } => browse::act(model, crate::keymap::action(key)?),
    }
}

fn typing(model: &mut Model, key: Key) -> Option<Command> {
    let Mode::Typing { text, before } = &mut model.mode else {
        return None;
    };
    match key {
        Key::Ctrl('c') => return Some(Command::Quit),
        Key::Ctrl('z') => return Some(Command::Suspend),
        Key::Ctrl('l') => return Some(Command::Repaint),
        Key::Char(c) if text.chars().count() < filter::LONGEST => text.push(c),
        Key::Backspace => {
            text.pop();
        }
        Key::Ctrl('u') => text.clear(),
        Key::Ctrl('w') => {
            let kept = text.trim_end().rfind(' ').map_or(0, |space| space + 1);
            text.truncate(kept);
        }
        Key::Esc => *text = std::mem::take(before),
        // Enter is for the caller; the rest means nothing in a line of text.
        Key::Char(_)
        | Key::Ctrl(_)
        | Key::Enter
        | Key::Tab
        | Key::BackTab
        | Key::Up
        | Key::Down
        | Key::Home
        | Key::End
        | Key::PageUp
        | Key::PageDown
        | Key::F1 => {}
    }
    apply_typed(model);
    close_typing(model, key);
    None
}

/// Esc closes the line, and Enter does unless its filter is not understood: then the error stays beside it.
fn close_typing(model: &mut Model, key: Key) {
    let Mode::Typing { text, .. } = &model.mode else { return };
    if key == Key::Esc || (key == Key::Enter && Filter::parse(text).is_ok()) {
        model.mode = Mode::Browse;
    }
}

/// A filter works while it is typed; one that is not understood leaves the last one at work.
fn apply_typed(model: &mut Model) {
    if let Mode::Typing { text, .. } = &model.mode
        && let Ok(filter) = Filter::parse(text)
    {
        model.filter = filter;
    }
}

impl Direction {
    fn turned(self) -> Self {
        match self {
            Self::Usual => Self::Reversed,
            Self::Reversed => Self::Usual,
        }
    }
}
