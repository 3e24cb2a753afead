//! herdtop: a terminal dashboard that shows herds of herdcache processes live.
//!
//! Data flows one way. Links ([`link`]) read the feed of each process into a
//! bounded mailbox; [`update::update`] takes one [`Msg`] at a time into the
//! [`Model`]; [`verdict::findings`] judges the model in plain words;
//! [`view::draw`] turns it into cells. Only [`screen`] touches the terminal and
//! only [`link`] touches the network, so that everything between is tested as
//! values. None of these modules knows the engine: they read `herdfeed` types.
//!
//! ```
//! use herdtop::{Model, Msg, Now, picture, update};
//! let mut model = Model::default();
//! update::update(&mut model, Msg::Tick(Now { mono_us: 0, unix_us: 0 }));
//! let text = picture::text(&model, 100, 30);
//! assert!(text.contains("herdtop"));
//! ```

pub mod cli;
pub mod clock;
pub mod controls;
#[cfg(feature = "demo")]
pub mod demo;
pub mod figures;
pub mod filter;
pub mod glossary;
pub mod keymap;
pub mod link;
pub mod model;
pub mod msg;
pub mod once;
pub mod picture;
pub mod rows;
pub mod screen;
pub mod targets;
pub mod text;
pub mod update;
pub mod verdict;
pub mod view;

pub use clock::Now;
pub use controls::{ControlBinding, ControlState, Controls};
pub use model::Model;
pub use msg::{Command, Key, Msg};
