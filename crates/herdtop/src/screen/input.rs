//! Terminal events as messages.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;

use crossterm::event::{Event, EventStream, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use futures_core::Stream;

use crate::msg::{Key, Msg};

/// The terminal's events.
#[derive(Default)]
pub(super) struct Input {
    stream: EventStream,
}

impl Input {
    /// The next message; `Ok(None)` for an event that means nothing here.
    ///
    /// # Errors
    /// The terminal is gone.
    ///
    /// # Cancel safety
    /// Safe: no event is lost.
    pub(super) async fn next(&mut self) -> io::Result<Option<Msg>> {
        match poll_fn(|context| Pin::new(&mut self.stream).poll_next(context)).await {
            Some(Ok(event)) => Ok(message(event)),
            Some(Err(error)) => Err(error),
            None => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the terminal has closed its input")),
        }
    }
}

fn message(event: Event) -> Option<Msg> {
    match event {
        Event::Key(event) => key(event).map(Msg::Key),
        Event::Paste(text) => Some(Msg::Paste(text)),
        Event::Resize(width, height) => Some(Msg::Resize { width, height }),
        Event::FocusGained | Event::FocusLost | Event::Mouse(_) => None,
    }
}

fn key(event: KeyEvent) -> Option<Key> {
    // A held key repeats; only its release means nothing.
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let with_ctrl = event.modifiers.contains(KeyModifiers::CONTROL);
    match event.code {
        KeyCode::Char(c) if with_ctrl => Some(Key::Ctrl(c.to_ascii_lowercase())),
        KeyCode::Char(_) if event.modifiers.contains(KeyModifiers::ALT) => None,
        KeyCode::Char(c) => Some(Key::Char(c)),
        KeyCode::Enter => Some(Key::Enter),
        KeyCode::Esc => Some(Key::Esc),
        KeyCode::Tab => Some(Key::Tab),
        KeyCode::BackTab => Some(Key::BackTab),
        KeyCode::Up => Some(Key::Up),
        KeyCode::Down => Some(Key::Down),
        KeyCode::Home => Some(Key::Home),
        KeyCode::End => Some(Key::End),
        KeyCode::PageUp => Some(Key::PageUp),
        KeyCode::PageDown => Some(Key::PageDown),
        KeyCode::Backspace => Some(Key::Backspace),
        KeyCode::F(1) => Some(Key::F1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_key_repeats_and_a_released_one_does_nothing() {
        let event = |kind| KeyEvent::new_with_kind(KeyCode::Down, KeyModifiers::NONE, kind);
        assert_eq!(key(event(KeyEventKind::Press)), Some(Key::Down));
        assert_eq!(key(event(KeyEventKind::Repeat)), Some(Key::Down));
        assert_eq!(key(event(KeyEventKind::Release)), None);
    }

    #[test]
    fn ctrl_is_seen_in_either_case() {
        let event = |c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL);
        assert_eq!([key(event('c')), key(event('C'))], [Some(Key::Ctrl('c')); 2]);
    }
}
