//! Pictures of the screen without a terminal: text, and SVG for a page.

use std::fmt::Write;

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};

use crate::model::Model;

/// The screen as it would be drawn.
pub fn render(model: &Model, width: u16, height: u16) -> Buffer {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    crate::view::draw(model, area, &mut buffer);
    buffer
}

/// The characters of a buffer, a line for each row, without trailing blanks.
pub fn buffer_text(buffer: &Buffer) -> String {
    let area = buffer.area;
    let mut text = String::new();
    for y in area.top()..area.bottom() {
        let mut line = String::new();
        let mut covered = 0;
        for x in area.left()..area.right() {
            let symbol = buffer[(x, y)].symbol();
            if covered == 0 {
                line.push_str(symbol);
                covered = crate::text::width(symbol).max(1);
            }
            covered -= 1;
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The screen as text.
pub fn text(model: &Model, width: u16, height: u16) -> String {
    buffer_text(&render(model, width, height))
}

/// Width of a cell and height of a row at a font of 14 px; taller rows would show gaps in bars.
const CELL: (f64, f64) = (8.43, 16.3);
const PAPER: &str = "#10141a";
const INK: &str = "#d8dee9";

/// The screen as SVG. Every cell is pinned to its column, whatever font draws it.
pub fn svg(model: &Model, width: u16, height: u16) -> String {
    let buffer = render(model, width, height);
    let (wide, high) = (f64::from(width) * CELL.0 + 16.0, f64::from(height) * CELL.1 + 16.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide:.1} {high:.1}\" width=\"{wide:.0}\" height=\"{high:.0}\" \
         font-family=\"ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"{PAPER}\"/>\n"
    );
    for y in 0..height {
        for x in 0..width {
            cell(&mut out, &buffer[(x, y)], x, y);
        }
    }
    out.push_str("</svg>\n");
    out
}

fn cell(out: &mut String, cell: &Cell, x: u16, y: u16) {
    let (left, base) = (8.0 + f64::from(x) * CELL.0, 8.0 + f64::from(y) * CELL.1);
    let reversed = cell.modifier.contains(Modifier::REVERSED);
    let color = hex(cell.fg);
    // Writing to a string cannot fail.
    if reversed {
        let _ = writeln!(
            out,
            "<rect x=\"{left:.1}\" y=\"{base:.1}\" width=\"{:.2}\" height=\"{}\" fill=\"{color}\"/>",
            CELL.0 + 0.1,
            CELL.1
        );
    }
    if cell.symbol().trim().is_empty() {
        return;
    }
    let fill = if reversed { PAPER } else { &color };
    let weight = if cell.modifier.contains(Modifier::BOLD) { " font-weight=\"bold\"" } else { "" };
    let faint = if cell.modifier.contains(Modifier::DIM) { " opacity=\"0.6\"" } else { "" };
    let text = cell.symbol().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let _ =
        writeln!(out, "<text x=\"{left:.1}\" y=\"{:.1}\" fill=\"{fill}\"{weight}{faint}>{text}</text>", base + 12.6);
}

fn hex(color: Color) -> String {
    match color {
        Color::Rgb(r, g, b) => format!("#{r:02x}{g:02x}{b:02x}"),
        _ => INK.to_owned(),
    }
}
