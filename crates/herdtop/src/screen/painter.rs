//! [`Painter`]: sends the terminal the cells that have changed, and nothing else.
//!
//! The picture is drawn into memory and compared with the last one; when no cell
//! differs, no byte is written. An idle screen costs the line only its clock.

use std::io::{self, BufWriter, Stdout, Write};

use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::model::Model;
use crate::view;

/// Larger writes are cut by terminals anyway.
const BUFFER: usize = 64 * 1024;

/// What is on the terminal, and the way to it.
pub(super) struct Painter {
    shown: Option<Buffer>,
    backend: CrosstermBackend<BufWriter<Stdout>>,
}

impl Default for Painter {
    fn default() -> Self {
        Self { shown: None, backend: CrosstermBackend::new(BufWriter::with_capacity(BUFFER, io::stdout())) }
    }
}

impl Painter {
    /// The terminal shows something else now: the next picture is drawn whole.
    pub(super) fn forget(&mut self) {
        self.shown = None;
    }

    /// Draws the model where it differs from what is shown.
    pub(super) fn draw(&mut self, model: &Model) -> io::Result<()> {
        let size = self.backend.size()?;
        let area = Rect::new(0, 0, size.width, size.height);
        let mut next = Buffer::empty(area);
        view::draw(model, area, &mut next);
        let shown = match self.shown.take() {
            Some(shown) if shown.area == area => shown,
            Some(_) | None => {
                self.backend.clear()?;
                Buffer::empty(area)
            }
        };
        let changed = shown.diff(&next);
        if !changed.is_empty() {
            self.backend.draw(changed.into_iter())?;
            Write::flush(&mut self.backend)?;
        }
        self.shown = Some(next);
        Ok(())
    }
}
