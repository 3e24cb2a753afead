//! What can happen to the model, and what the model can ask of the shell.

use herdfeed::{Event, Hello, Past, Snapshot};

use crate::clock::Now;
use crate::controls::ControlBinding;

/// A key, apart from any terminal library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A printable character.
    Char(char),
    /// A character with Ctrl.
    Ctrl(char),
    /// Enter.
    Enter,
    /// Escape.
    Esc,
    /// Tab.
    Tab,
    /// Shift-Tab.
    BackTab,
    /// Arrow up.
    Up,
    /// Arrow down.
    Down,
    /// Home.
    Home,
    /// End.
    End,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// Backspace.
    Backspace,
    /// F1.
    F1,
}

/// Which target a message is about; never used again for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TargetId(pub u32);

/// What a link says about its target.
#[derive(Clone, Debug)]
pub enum Feed {
    /// A target that the screen is to watch from now on.
    Added {
        /// Its address as the operator would write it.
        address: String,
        /// What to call it until it has said its name.
        name: String,
    },
    /// The link tries to connect.
    Connecting,
    /// The first line of a stream: who speaks.
    Hello(Box<Hello>),
    /// What happened before the link was there.
    Past(Past),
    /// State now.
    Snapshot(Box<Snapshot>),
    /// Events in order.
    Events(Vec<Event>),
    /// Events that were lost on the way.
    Lag {
        /// How many.
        missed: u64,
    },
    /// Lines that could not be read, since the stream began.
    BadLines(u64),
    /// The link is down and will be tried again.
    Down {
        /// Why, in one line.
        why: String,
        /// When, on the monotonic clock.
        retry_at_us: u64,
    },
    /// The process is gone for good: nobody is behind a discovered socket any more.
    Gone(Farewell),
}

/// How a process that is gone left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Farewell {
    /// It said goodbye: it was stopped in good order.
    Said,
    /// It said nothing: it crashed or was killed.
    Unsaid,
}

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Msg {
    /// Time has passed.
    Tick(Now),
    /// A key was pressed.
    Key(Key),
    /// Text was pasted.
    Paste(String),
    /// The terminal has another size.
    Resize {
        /// Columns.
        width: u16,
        /// Rows.
        height: u16,
    },
    /// A target's link said something.
    Feed {
        /// Which target.
        target: TargetId,
        /// What.
        feed: Feed,
    },
    /// The mailbox dropped something because the screen was too slow; totals.
    Dropped {
        /// Snapshots replaced by newer ones before they were shown.
        snapshots: u64,
        /// Events.
        events: u64,
    },
    /// The extra keys as they stand now.
    Controls(Vec<ControlBinding>),
    /// Something to tell the operator: a task that died, a wish that cannot be met.
    Note(String),
}

/// What the model asks of the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Leave.
    Quit,
    /// Give the terminal back until continued.
    Suspend,
    /// Draw everything anew.
    Repaint,
    /// Every link that waits is to try now.
    Retry,
    /// An extra key was pressed.
    Control(char),
}
