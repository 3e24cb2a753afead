//! Extra keys that a host of the screen may bring along.
//!
//! The demonstration switches countermeasures with them. The screen shows the
//! bindings in a bar and in the help, and hands over the keys; it knows nothing
//! of what they do.

/// What a control is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlState {
    /// A switch that is on.
    On,
    /// A switch that is off.
    Off,
    /// Not a switch: pressing it does something once.
    Action,
}

/// One extra key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlBinding {
    /// The key; it must not be taken by the screen, see [`crate::keymap::taken`].
    pub key: char,
    /// One or two words.
    pub label: String,
    /// What it is set to now.
    pub state: ControlState,
}

/// Extra keys and what they do.
///
/// Both methods are called on the thread that draws and must return at once.
///
/// ```
/// use herdtop::{ControlBinding, ControlState, Controls};
/// struct Lamp(bool);
/// impl Controls for Lamp {
///     fn bindings(&self) -> Vec<ControlBinding> {
///         let state = if self.0 { ControlState::On } else { ControlState::Off };
///         vec![ControlBinding { key: 'l', label: "lamp".into(), state }]
///     }
///     fn press(&mut self, _key: char) {
///         self.0 = !self.0;
///     }
/// }
/// let mut lamp = Lamp(false);
/// lamp.press('l');
/// assert_eq!(lamp.bindings()[0].state, ControlState::On);
/// ```
pub trait Controls: Send {
    /// Every extra key as it stands now; asked for after each press and four times a second.
    fn bindings(&self) -> Vec<ControlBinding>;
    /// The operator pressed one of them.
    fn press(&mut self, key: char);
}
