//! No rectangle and no page makes the screen panic.

#[path = "support/script.rs"]
mod script;

use herdtop::model::{GlyphSet, Panel};
use herdtop::{ControlBinding, ControlState, Key, Msg, picture};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use script::Script;

fn every_small_rect(script: &Script) {
    for width in 0..=60 {
        for height in 0..=20 {
            picture::render(&script.model, width, height);
        }
    }
}

#[test]
fn every_small_rect_bears_every_state() {
    for script in [script::herd(), script::stampede(), script::hostile(), script::huge(), Script::new()] {
        every_small_rect(&script);
    }
}

#[test]
fn every_small_rect_bears_every_panel_and_page() {
    let mut script = script::herd();
    script.send(Msg::Controls(vec![ControlBinding { key: 'F', label: "商品".repeat(40), state: ControlState::Off }]));
    for panel in Panel::ALL {
        script.model.focus = panel;
        every_small_rect(&script);
        script.send(Msg::Key(Key::Enter));
        every_small_rect(&script);
        script.send(Msg::Key(Key::Esc));
    }
    for page in ["?", "w"] {
        script.press(page);
        script.press("G");
        every_small_rect(&script);
        script.send(Msg::Key(Key::Esc));
    }
    script.press("/out:meteor");
    every_small_rect(&script);
}

#[test]
fn sizes_around_the_breakpoints_and_huge_ones_are_drawn() {
    for script in [script::herd(), script::hostile()] {
        for width in [39, 40, 41, 59, 60, 79, 80, 99, 100, 149, 150, 400] {
            for height in [7, 8, 15, 16, 23, 24, 27, 28, 39, 40, 120] {
                picture::render(&script.model, width, height);
            }
        }
    }
}

/// A feed may say anything: no sum over its figures overflows, in any view, page or report.
#[test]
fn figures_at_the_end_of_their_types_overflow_nothing() {
    let mut script = script::extreme();
    for panel in Panel::ALL {
        script.model.focus = panel;
        for (width, height) in [(160, 45), (100, 30), (80, 24), (60, 16), (60, 15), (40, 8)] {
            picture::render(&script.model, width, height);
        }
        for key in [Key::Char('g'), Key::Enter] {
            script.send(Msg::Key(key));
            picture::render(&script.model, 160, 45);
        }
        script.send(Msg::Key(Key::Esc));
    }
    for page in ["?", "w"] {
        script.press(page);
        picture::render(&script.model, 160, 45);
        script.send(Msg::Key(Key::Esc));
    }
    assert!(script.text(160, 45).contains("999y"), "its ages are among what is shown");
}

#[test]
fn a_screen_that_is_too_small_says_what_it_needs() {
    assert_eq!(script::calm().text(20, 5).lines().next(), Some("need 40x8 (is 20x5)"));
    assert_eq!(script::calm().text(38, 7).lines().next(), Some("need 40x8 (is 38x7)"));
}

/// An area that is only a part of its buffer: nothing is drawn outside it.
#[test]
fn nothing_is_drawn_outside_the_area() {
    let script = script::hostile();
    let mut buffer = Buffer::filled(Rect::new(0, 0, 140, 50), ratatui::buffer::Cell::new("#"));
    let area = Rect::new(10, 5, 101, 31);
    herdtop::view::draw(&script.model, area, &mut buffer);
    for y in 0..50 {
        for x in 0..140 {
            if !area.contains((x, y).into()) {
                assert_eq!(buffer[(x, y)].symbol(), "#", "{x},{y}");
            }
        }
    }
}

/// P2: no cell of any picture holds a control character, and each row is as wide as the screen.
#[test]
fn p2_no_cell_holds_a_control_character() {
    let mut script = script::hostile();
    for glyphs in [GlyphSet::Unicode, GlyphSet::Ascii] {
        script.model.look.glyphs = glyphs;
        for (width, height) in [(160, 45), (100, 30), (80, 24), (60, 16), (40, 8)] {
            let buffer = picture::render(&script.model, width, height);
            for y in 0..height {
                let mut x = 0;
                while x < width {
                    let symbol = buffer[(x, y)].symbol();
                    assert!(!symbol.chars().any(char::is_control), "{symbol:?}");
                    x += u16::try_from(herdtop::text::width(symbol).max(1)).unwrap();
                }
                assert_eq!(x, width, "row {y} of {width}x{height}");
            }
        }
    }
}
