//! The model: everything the screen knows, as plain data without any drawing type.
//!
//! What was learned from processes is the [`World`]; how the operator looks at
//! it is the rest. Pausing keeps a copy of the world and goes on taking in the
//! live one, so nothing is lost while the picture stands still.

pub mod deploy;
pub mod log;
pub mod look;
pub mod pulse;
pub mod recent;
pub mod target;
pub mod timeline;
pub mod window;

use std::collections::HashMap;

use crate::clock::Now;
use crate::controls::ControlBinding;
use crate::filter::Filter;
use crate::msg::TargetId;
use crate::rows::{RowId, SortKey};
use crate::verdict::{Finding, Memory};

pub use log::{Entry, Log, Occurrence};
pub use look::{Colors, GlyphSet, Look};
pub use target::{Link, Target};

/// The panels that can hold the focus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Panel {
    /// Rates by outcome.
    Outcomes,
    /// The processes.
    Fleet,
    /// Loads in progress and just landed.
    #[default]
    Flights,
    /// The keys asked for most.
    Keys,
    /// Gates.
    Permits,
    /// What happened.
    Events,
}

impl Panel {
    /// Every panel in the order of the number keys.
    pub const ALL: [Self; 6] = [Self::Outcomes, Self::Fleet, Self::Flights, Self::Keys, Self::Permits, Self::Events];

    /// Number key and title.
    pub fn title(self) -> (u8, &'static str) {
        match self {
            Self::Outcomes => (1, "Outcomes"),
            Self::Fleet => (2, "Fleet"),
            Self::Flights => (3, "Flights"),
            Self::Keys => (4, "Hot keys"),
            Self::Permits => (5, "Origin permits"),
            Self::Events => (6, "Events"),
        }
    }
}

/// What has the keyboard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The panels.
    #[default]
    Browse,
    /// The filter line; holds what was typed and what was there before.
    Typing {
        /// Typed so far.
        text: String,
        /// Restored by Esc.
        before: String,
    },
    /// A page over the panels.
    Page {
        /// Which.
        page: Page,
        /// First line shown.
        scroll: usize,
    },
}

/// Pages that can be opened over the panels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Page {
    /// Keys and filters.
    Help,
    /// All findings with reason and cure.
    Findings,
    /// Everything about one row.
    Detail(RowId),
}

/// What was learned from the processes.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// The processes, by name.
    pub targets: Vec<Target>,
    /// What happened, newest last.
    pub log: Log,
    /// What this screen was too slow for.
    pub drops: Drops,
}

/// What the mailbox dropped because the screen was too slow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    /// Snapshots that a newer one replaced before they were taken in.
    pub snapshots: u64,
    /// Events.
    pub events: u64,
}

/// A picture that is held.
#[derive(Clone, Debug)]
pub struct Paused {
    /// The world as it was.
    pub world: World,
    /// When.
    pub at: Now,
    /// Snapshots taken in since.
    pub frames: u64,
}

/// Where the operator stands in a panel.
#[derive(Clone, Debug, Default)]
pub struct Cursor {
    /// The selected row, by identity: it stays selected when rows move.
    pub selected: Option<RowId>,
    /// The column rows are sorted by.
    pub sort: SortKey,
    /// Whether the usual direction is turned round.
    pub direction: Direction,
    /// The order of rows, held for a moment so that rows do not jump.
    pub held: Vec<RowId>,
    /// When that order was made.
    pub held_at_us: u64,
}

/// A direction of sorting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Most first.
    #[default]
    Usual,
    /// Least first.
    Reversed,
}

/// Whether keys are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyDisplay {
    /// As the application lets them be seen.
    #[default]
    Shown,
    /// As short names that only tell them apart.
    Hidden,
}

/// Everything the screen knows.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// The time, as the last tick told it.
    pub now: Now,
    /// When the last tick was, on our monotonic clock.
    pub ticked_us: u64,
    /// What is learned, always live.
    pub live: World,
    /// The held picture, if any.
    pub paused: Option<Paused>,
    /// What has the keyboard.
    pub mode: Mode,
    /// The panel with the focus.
    pub focus: Panel,
    /// Where the operator stands in each panel.
    pub cursors: HashMap<Panel, Cursor>,
    /// Which rows are shown.
    pub filter: Filter,
    /// Whether keys are shown.
    pub keys: KeyDisplay,
    /// What is wrong, most severe first.
    pub findings: Vec<Finding>,
    /// What was found a moment ago, so that the verdict stands still.
    pub memory: Memory,
    /// The finding in the verdict line.
    pub finding: usize,
    /// Extra keys.
    pub controls: Vec<ControlBinding>,
    /// Something to tell the operator, and when it was said.
    pub note: Option<(String, u64)>,
    /// Colours and glyphs.
    pub look: Look,
    /// Size of the terminal.
    pub size: (u16, u16),
}

impl Model {
    /// The world that is on screen: the held one while paused.
    pub fn world(&self) -> &World {
        self.paused.as_ref().map_or(&self.live, |paused| &paused.world)
    }

    /// The moment that is on screen.
    pub fn shown_now(&self) -> Now {
        self.paused.as_ref().map_or(self.now, |paused| paused.at)
    }

    /// Where the operator stands in `panel`.
    pub fn cursor(&self, panel: Panel) -> Cursor {
        self.cursors.get(&panel).cloned().unwrap_or_default()
    }

    /// A key as it may be shown.
    pub fn key_text(&self, key: &str) -> String {
        match self.keys {
            KeyDisplay::Shown => key.to_owned(),
            KeyDisplay::Hidden => crate::text::disguise(key),
        }
    }
}

impl World {
    /// The target with this id.
    pub fn target(&self, id: TargetId) -> Option<&Target> {
        self.targets.iter().find(|target| target.id == id)
    }

    /// The target with this id, to be changed.
    pub fn target_mut(&mut self, id: TargetId) -> Option<&mut Target> {
        self.targets.iter_mut().find(|target| target.id == id)
    }
}
