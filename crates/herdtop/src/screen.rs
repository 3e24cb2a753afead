//! The screen's shell: the only place that touches the terminal.
//!
//! It gives messages to the model in the order they come, input first, draws at
//! most ten times a second, and only when a cell has changed. Links run on a
//! thread of their own, so that a flood of data never delays a key.

mod input;
mod painter;
mod panic;
mod signals;
mod terminal;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use herdfeed::Token;
use tokio::runtime::Builder;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use crate::clock;
use crate::controls::Controls;
use crate::filter::Filter;
use crate::keymap;
use crate::link::Links;
use crate::link::mailbox::Mailbox;
use crate::model::{Look, Model};
use crate::msg::{Command, Msg};
use crate::targets::Targets;
use crate::update::{settle, update};
use input::Input;
use painter::Painter;
use signals::{Signal, Signals};
use terminal::Terminal;

/// Time is told this often.
const TICK: Duration = Duration::from_millis(250);
/// Two pictures are at least this far apart.
const FRAME: Duration = Duration::from_millis(100);

/// How the screen starts.
#[derive(Clone, Debug, Default)]
pub struct ScreenOptions {
    /// Colours and glyphs.
    pub look: Look,
    /// Which rows are shown at first.
    pub filter: Filter,
    /// The secret of feeds that ask for one.
    pub token: Option<Token>,
    /// What the bottom line says for the first seconds.
    pub note: Option<String>,
}

/// How the screen ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenEnd {
    /// The operator left.
    Quit,
    /// A signal asked it to end; programs then end with 128 + its number.
    Signal(i32),
}

/// Why there is no screen.
#[derive(Debug)]
pub enum ScreenError {
    /// Standard output is no terminal.
    NoTerminal,
    /// An extra key is one of the screen's own.
    KeyTaken(char),
    /// The terminal or the runtime refused.
    Io(io::Error),
}

impl fmt::Display for ScreenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTerminal => f.write_str(
                "standard output is no terminal: use `herdtop --once --text` or `herdtop --once --json` for pipes and files",
            ),
            Self::KeyTaken(key) => write!(f, "the extra key `{key}` is one of the screen's own: choose another"),
            Self::Io(error) => write!(f, "the terminal failed: {error}"),
        }
    }
}

impl std::error::Error for ScreenError {}

impl From<io::Error> for ScreenError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Runs the screen on `targets` until the operator leaves.
///
/// Blocks the calling thread and owns its terminal meanwhile; must not be called
/// from within a tokio runtime. `extra` brings keys of the caller's own. The
/// terminal is as before when this returns, also when it panics.
///
/// ```no_run
/// use herdtop::screen::{ScreenOptions, run};
/// use herdtop::targets::Targets;
/// let end = run(ScreenOptions::default(), &Targets::Local, None)?;
/// # Ok::<(), herdtop::screen::ScreenError>(())
/// ```
///
/// # Errors
/// [`ScreenError`], whose text says what to do.
pub fn run(
    options: ScreenOptions,
    targets: &Targets,
    extra: Option<Box<dyn Controls>>,
) -> Result<ScreenEnd, ScreenError> {
    let taken = extra.iter().flat_map(|extra| extra.bindings()).find(|binding| keymap::taken(binding.key));
    if let Some(binding) = taken {
        return Err(ScreenError::KeyTaken(binding.key));
    }
    if !terminal::is_terminal() {
        return Err(ScreenError::NoTerminal);
    }
    let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("herdtop-links").enable_all().build()?;
    let mailbox = Arc::new(Mailbox::default());
    let links = Links::start(runtime.handle(), targets, options.token.clone(), &mailbox);
    let _hook = panic::Hook::install();
    let shell = Shell::enter(options, mailbox, links, extra)?;
    let end = runtime.block_on(shell.run());
    runtime.shutdown_background();
    Ok(end?)
}

struct Shell {
    model: Model,
    mailbox: Arc<Mailbox>,
    links: Links,
    extra: Option<Box<dyn Controls>>,
    painter: Painter,
    /// Held so that it is given back when the shell ends.
    _terminal: Terminal,
    drawn_at: Option<Instant>,
    is_dirty: bool,
}

impl Shell {
    fn enter(
        options: ScreenOptions,
        mailbox: Arc<Mailbox>,
        links: Links,
        extra: Option<Box<dyn Controls>>,
    ) -> io::Result<Self> {
        let terminal = Terminal::enter()?;
        let note = options.note.map(|text| (text, clock::read().mono_us));
        let model = Model { look: options.look, filter: options.filter, note, ..Model::default() };
        Ok(Self {
            model,
            mailbox,
            links,
            extra,
            painter: Painter::default(),
            _terminal: terminal,
            drawn_at: None,
            is_dirty: true,
        })
    }

    async fn run(mut self) -> io::Result<ScreenEnd> {
        let mut input = Input::default();
        let mut signals = Signals::listen()?;
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        self.tick();
        loop {
            let draw_at = self.drawn_at.map_or_else(Instant::now, |drawn| drawn + FRAME);
            let mailbox = Arc::clone(&self.mailbox);
            let end = tokio::select! {
                biased;
                signal = signals.next() => self.signalled(signal)?,
                msg = input.next() => self.typed(msg?)?,
                () = sleep_until(draw_at), if self.is_dirty => { self.draw()?; None }
                _ = ticks.tick() => { self.tick(); None }
                () = mailbox.arrived() => { self.heard(); None }
            };
            if let Some(end) = end {
                return Ok(end);
            }
        }
    }

    fn tick(&mut self) {
        // What has arrived counts before anybody is said to be silent.
        self.heard();
        self.take(Msg::Tick(clock::read()));
        self.show_controls();
    }

    fn heard(&mut self) {
        // The time first: what arrived is dated by it.
        self.model.now = clock::read();
        for msg in self.mailbox.take() {
            update(&mut self.model, msg);
        }
        settle(&mut self.model);
        self.is_dirty = true;
    }

    fn take(&mut self, msg: Msg) -> Option<Command> {
        self.is_dirty = true;
        update(&mut self.model, msg)
    }

    fn typed(&mut self, msg: Option<Msg>) -> io::Result<Option<ScreenEnd>> {
        let Some(msg) = msg else { return Ok(None) };
        if let Msg::Key(key) = msg {
            panic::on_demand(key);
        }
        match self.take(msg) {
            None => Ok(None),
            Some(command) => self.carry_out(command),
        }
    }

    fn carry_out(&mut self, command: Command) -> io::Result<Option<ScreenEnd>> {
        match command {
            Command::Quit => return Ok(Some(ScreenEnd::Quit)),
            Command::Suspend => self.suspend()?,
            Command::Repaint => self.painter.forget(),
            Command::Retry => self.links.retry(),
            Command::Control(key) => {
                if let Some(extra) = &mut self.extra {
                    extra.press(key);
                }
                self.show_controls();
            }
        }
        Ok(None)
    }

    fn signalled(&mut self, signal: Signal) -> io::Result<Option<ScreenEnd>> {
        match signal {
            Signal::End(number) => return Ok(Some(ScreenEnd::Signal(number))),
            Signal::Stop => self.suspend()?,
            Signal::Continued => {
                // Somebody else stopped us: the shell has used the terminal meanwhile.
                Terminal::enter_again()?;
                self.painter.forget();
                self.is_dirty = true;
            }
        }
        Ok(None)
    }

    fn suspend(&mut self) -> io::Result<()> {
        if let Err(why) = Terminal::suspend() {
            self.take(Msg::Note(why));
            return Ok(());
        }
        Terminal::enter_again()?;
        self.painter.forget();
        self.is_dirty = true;
        Ok(())
    }

    fn show_controls(&mut self) {
        if let Some(extra) = &self.extra {
            let bindings = extra.bindings();
            self.take(Msg::Controls(bindings));
        }
        for note in panic::foreign() {
            self.take(Msg::Note(note));
        }
    }

    fn draw(&mut self) -> io::Result<()> {
        self.is_dirty = false;
        self.drawn_at = Some(Instant::now());
        self.painter.draw(&self.model)
    }
}
