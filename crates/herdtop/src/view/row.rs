//! [`RowText`]: one row of cells, built from left to right with exact widths.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::text::{self, Align};

/// One row under construction.
pub(super) struct RowText {
    spans: Vec<Span<'static>>,
    used: usize,
    width: usize,
    ellipsis: char,
}

impl RowText {
    /// An empty row of `width` cells.
    pub(super) fn new(width: u16, ellipsis: char) -> Self {
        Self { spans: Vec::new(), used: 0, width: usize::from(width), ellipsis }
    }

    /// Cells that are left.
    pub(super) fn left(&self) -> usize {
        self.width.saturating_sub(self.used)
    }

    /// A column of exactly `cells` cells, or of what is left.
    pub(super) fn column(&mut self, content: &str, cells: usize, align: Align, style: Style) -> &mut Self {
        let cells = cells.min(self.left());
        if cells > 0 {
            self.spans.push(Span::styled(text::fit(content, cells, align, self.ellipsis), style));
            self.used += cells;
        }
        self
    }

    /// Text of its own width, cut to what is left.
    pub(super) fn text(&mut self, content: &str, style: Style) -> &mut Self {
        let cells = text::width(&text::clean(content));
        self.column(content, cells, Align::Left, style)
    }

    /// Empty cells.
    pub(super) fn gap(&mut self, cells: usize) -> &mut Self {
        self.column("", cells, Align::Left, Style::new())
    }

    /// Text at the right end; left out when it does not fit.
    pub(super) fn right(&mut self, content: &str, style: Style) -> &mut Self {
        let cells = text::width(&text::clean(content));
        if cells > 0 && self.left() > cells {
            let gap = self.left() - cells;
            self.gap(gap).text(content, style);
        }
        self
    }

    /// Writes the row; what is left stays empty. `over` lies over the whole row.
    pub(super) fn put(self, area: Rect, line: u16, over: Style, buf: &mut Buffer) {
        if line >= area.height {
            return;
        }
        let place = Rect::new(area.x, area.y + line, area.width, 1).intersection(buf.area);
        if place.is_empty() {
            return;
        }
        buf.set_line(place.x, place.y, &Line::from(self.spans), place.width);
        buf.set_style(place, over);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_never_leaves_its_width() {
        let area = Rect::new(0, 0, 8, 1);
        let mut buf = Buffer::empty(Rect::new(0, 0, 10, 2));
        let mut row = RowText::new(area.width, '…');
        row.column("商品:東京", 5, Align::Left, Style::new()).text("123456", Style::new()).text("more", Style::new());
        row.put(area, 0, Style::new(), &mut buf);
        RowText::new(8, '…').put(area, 1, Style::new(), &mut buf);
        let text: String = (0..10).map(|x| buf[(x, 0)].symbol().to_owned()).collect();
        // A wide character leaves its second cell blank.
        assert_eq!(text, "商 品 …12…  ");
    }
}
