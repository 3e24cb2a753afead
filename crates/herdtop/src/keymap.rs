//! One table: what keys do, what the help says, what the bottom bar shows.

use crate::model::Panel;
use crate::msg::Key;

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Leave.
    Quit,
    /// Show the keys.
    Help,
    /// Close what is open, or clear the filter.
    Cancel,
    /// One row down.
    Down,
    /// One row up.
    Up,
    /// First row.
    Top,
    /// Last row.
    Bottom,
    /// Ten rows down.
    PageDown,
    /// Ten rows up.
    PageUp,
    /// The next panel.
    NextPanel,
    /// The panel before.
    PreviousPanel,
    /// This panel.
    Panel(Panel),
    /// All findings with reason and cure.
    Findings,
    /// Everything about the selected row.
    Detail,
    /// Type a filter.
    Filter,
    /// The next sort column.
    Sort,
    /// The other direction.
    ReverseSort,
    /// Hold the picture, or let it run.
    Pause,
    /// Hide keys, or show them.
    HideKeys,
    /// The next finding in the verdict line.
    NextFinding,
    /// The finding before.
    PreviousFinding,
    /// Try all waiting links now.
    Retry,
    /// Draw everything anew.
    Repaint,
    /// Back to the shell until continued.
    Suspend,
}

/// Keys that do one thing.
#[derive(Debug)]
pub struct Binding {
    /// The keys.
    pub keys: &'static [Key],
    /// How the help spells them.
    pub shown: &'static str,
    /// What they do.
    pub action: Action,
    /// What the help says.
    pub help: &'static str,
    /// What the bottom bar says; empty keeps it out.
    pub bar: &'static str,
}

const fn binding(
    keys: &'static [Key],
    shown: &'static str,
    action: Action,
    help: &'static str,
    bar: &'static str,
) -> Binding {
    Binding { keys, shown, action, help, bar }
}

/// Every key of the screen. In the bottom bar earlier rows win over later ones.
pub const BINDINGS: &[Binding] = &[
    binding(&[Key::Char('q'), Key::Ctrl('c')], "q Ctrl-C", Action::Quit, "quit", "q quit"),
    binding(&[Key::Char('?'), Key::Char('h'), Key::F1], "? h F1", Action::Help, "this help", "? help"),
    binding(&[Key::Char('/')], "/", Action::Filter, "filter rows, see below", "/ filter"),
    binding(&[Key::Enter], "Enter", Action::Detail, "everything about the selected row", "Enter detail"),
    binding(&[Key::Char('s')], "s", Action::Sort, "sort by the next column", "s sort"),
    binding(&[Key::Tab], "Tab", Action::NextPanel, "next panel", "Tab panel"),
    binding(
        &[Key::Char(' '), Key::Char('p')],
        "Space p",
        Action::Pause,
        "hold the picture; data goes on arriving",
        "Space pause",
    ),
    binding(&[Key::Char('n')], "n", Action::NextFinding, "next finding in the verdict line", "n next"),
    binding(&[Key::Char('w'), Key::Char('7')], "w 7", Action::Findings, "all findings with reason and cure", "w why"),
    binding(&[Key::Char('R')], "R", Action::Retry, "try all waiting targets now", "R retry"),
    binding(&[Key::Char('x')], "x", Action::HideKeys, "hide keys (privacy), or show them", "x hide keys"),
    binding(&[Key::Char('N')], "N", Action::PreviousFinding, "finding before", ""),
    binding(&[Key::Char('S')], "S", Action::ReverseSort, "sort the other way round", ""),
    binding(&[Key::BackTab], "Shift-Tab", Action::PreviousPanel, "panel before", ""),
    binding(&[Key::Char('1')], "1", Action::Panel(Panel::Outcomes), "outcomes", ""),
    binding(&[Key::Char('2')], "2", Action::Panel(Panel::Fleet), "fleet", ""),
    binding(&[Key::Char('3')], "3", Action::Panel(Panel::Flights), "flights", ""),
    binding(&[Key::Char('4')], "4", Action::Panel(Panel::Keys), "hot keys", ""),
    binding(&[Key::Char('5')], "5", Action::Panel(Panel::Permits), "origin permits", ""),
    binding(&[Key::Char('6')], "6", Action::Panel(Panel::Events), "events", ""),
    binding(&[Key::Char('j'), Key::Down], "j Down", Action::Down, "row down", ""),
    binding(&[Key::Char('k'), Key::Up], "k Up", Action::Up, "row up", ""),
    binding(&[Key::Char('g'), Key::Home], "g Home", Action::Top, "first row", ""),
    binding(&[Key::Char('G'), Key::End], "G End", Action::Bottom, "last row", ""),
    binding(&[Key::PageDown, Key::Ctrl('d')], "PgDn Ctrl-D", Action::PageDown, "ten rows down", ""),
    binding(&[Key::PageUp, Key::Ctrl('u')], "PgUp Ctrl-U", Action::PageUp, "ten rows up", ""),
    binding(&[Key::Esc], "Esc", Action::Cancel, "close, or clear the filter; never quits", ""),
    binding(&[Key::Ctrl('l')], "Ctrl-L", Action::Repaint, "draw everything anew", ""),
    binding(&[Key::Ctrl('z')], "Ctrl-Z", Action::Suspend, "back to the shell; fg returns", ""),
];

/// What the help says about filters.
pub const FILTER_HELP: &[&str] = &[
    "text          rows that hold it (key, cache, target)",
    "!text         rows that do not",
    "key:a cache:b target:c   that field holds it",
    "out:rejected  flights and events with that end or outcome",
    "cause:expired flights and events with that cause",
    "w>10 age>1s   more waiters, older than (also <)",
];

/// What `key` does, if anything.
pub fn action(key: Key) -> Option<Action> {
    BINDINGS.iter().find(|binding| binding.keys.contains(&key)).map(|binding| binding.action)
}

/// Whether the screen itself uses this character, so that an extra key may not.
pub fn taken(character: char) -> bool {
    action(Key::Char(character)).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_does_two_things() {
        let keys: Vec<Key> = BINDINGS.iter().flat_map(|binding| binding.keys).copied().collect();
        for (position, key) in keys.iter().enumerate() {
            assert!(!keys[..position].contains(key), "{key:?} is bound twice");
        }
    }

    #[test]
    fn the_letters_for_switches_are_free() {
        for free in "abcdefilmortuvyz".chars() {
            assert!(!taken(free), "{free}");
        }
    }
}
