//! The screen in every size and state, as text and, for a few, with its styles.

#[path = "support/script.rs"]
mod script;

use herdtop::model::{Colors, GlyphSet};
use herdtop::picture;
use herdtop::{ControlBinding, ControlState, Key, Msg};
use ratatui::buffer::Buffer;
use script::Script;

const SIZES: [(u16, u16); 5] = [(160, 45), (100, 30), (80, 24), (60, 16), (40, 8)];

fn shoot(name: &str, script: &Script) {
    for (width, height) in SIZES {
        insta::assert_snapshot!(format!("{name}_{width}x{height}"), script.text(width, height));
    }
}

#[test]
fn calm() {
    shoot("calm", &script::calm());
}

#[test]
fn herd() {
    shoot("herd", &script::herd());
}

#[test]
fn stampede() {
    shoot("stampede", &script::stampede());
}

#[test]
fn disconnected() {
    shoot("disconnected", &script::disconnected());
}

/// One of two processes is stopped, the other's origin hangs and its permits are off.
#[test]
fn silent() {
    let mut script = script::calm();
    for _ in 0..14 {
        script.silence(250_000);
        let snapshot = &mut script.services[1].snapshot;
        snapshot.mono_us += 250_000;
        let cache = &mut snapshot.caches[0];
        cache.outcomes[herdfeed::Outcome::Hit] += 900;
        cache.off = vec![herdfeed::Measure::Permits, herdfeed::Measure::Early];
        (cache.origin_active, cache.flights_active) = (37, 37);
        cache.flight_oldest_us += 250_000;
        script.tell(1);
    }
    shoot("silent", &script);
}

#[test]
fn paused() {
    shoot("paused", &script::paused());
}

#[test]
fn empty() {
    shoot("empty", &Script::new());
}

#[test]
fn huge_numbers() {
    shoot("huge", &script::huge());
}

/// P2: hostile and wide key names (case 39).
#[test]
fn p2_hostile_keys() {
    shoot("hostile", &script::hostile());
}

#[test]
fn ascii_has_no_other_character() {
    let mut script = script::herd();
    script.model.look.glyphs = GlyphSet::Ascii;
    let text = script.text(100, 30);
    assert!(text.is_ascii(), "{text}");
    insta::assert_snapshot!("ascii_100x30", text);
}

#[test]
fn hidden_keys_are_nowhere() {
    let mut script = script::herd();
    script.press("x");
    for (width, height) in SIZES {
        let text = script.text(width, height);
        assert!(!text.contains("user:") && !text.contains("price:"), "{text}");
    }
    insta::assert_snapshot!("hidden_keys_100x30", script.text(100, 30));
}

/// Too low for tabs: the lines below the counters show the loads.
#[test]
fn a_low_screen_has_no_empty_rows() {
    let text = script::stampede().text(60, 15);
    let rows: Vec<&str> = text.lines().collect();
    assert!(rows[7].contains("KEY") && rows[8].contains("user:42"), "{text}");
    assert!(rows.iter().all(|row| !row.trim().is_empty()), "{text}");
}

/// Of a cure that does not fit the reason goes first and its explanation next; no cure is cut in its middle.
#[test]
fn a_cure_keeps_its_useful_half() {
    let mut script = script::calm();
    script.pass(8, |snapshot| {
        script::everyday(snapshot);
        snapshot.caches[0].origin_results[herdfeed::OriginResult::Error] += 20;
    });
    let line = |width| script.text(width, 30).lines().nth(1).unwrap().trim_end().to_owned();
    assert!(line(160).contains("heal the origin; set stale_if_error_for"), "{}", line(160));
    assert!(line(130).ends_with("old values answer meanwhile"), "{}", line(130));
    assert!(line(100).ends_with("set stale_if_error_for"), "{}", line(100));
}

#[test]
fn pages() {
    let mut script = script::stampede();
    script.press("?");
    insta::assert_snapshot!("help_100x30", script.text(100, 30));
    insta::assert_snapshot!("help_80x24", script.text(80, 24));
    script.press("G");
    insta::assert_snapshot!("help_words_100x30", script.text(100, 30));
    insta::assert_snapshot!("help_words_80x24", script.text(80, 24));
    script.send(Msg::Key(Key::Esc));
    script.press("w");
    insta::assert_snapshot!("findings_100x30", script.text(100, 30));
    script.send(Msg::Key(Key::Esc));
    for (panel, name) in
        [("1", "outcome"), ("2", "target"), ("3", "flight"), ("4", "key"), ("5", "gate"), ("6", "event")]
    {
        script.press(panel);
        script.send(Msg::Key(Key::Enter));
        insta::assert_snapshot!(format!("detail_{name}_100x30"), script.text(100, 30));
        script.send(Msg::Key(Key::Esc));
    }
}

#[test]
fn filter_line() {
    let mut script = script::herd();
    script.press("/w>many");
    insta::assert_snapshot!("filter_bad_100x30", script.text(100, 30));
    script.send(Msg::Key(Key::Ctrl('u')));
    script.press("user:7");
    script.send(Msg::Key(Key::Enter));
    insta::assert_snapshot!("filter_100x30", script.text(100, 30));
}

#[test]
fn extra_keys() {
    let mut script = script::calm();
    let control = |key, label: &str, state| ControlBinding { key, label: label.into(), state };
    script.send(Msg::Controls(vec![
        control('F', "single-flight", ControlState::On),
        control('P', "permits", ControlState::Off),
        control('H', "expire hot key", ControlState::Action),
    ]));
    insta::assert_snapshot!("controls_100x30", script.text(100, 30));
    script.press("?");
    assert!(script.text(100, 60).contains("H            expire hot key"));
}

/// Every row's styles as runs: `3 red bold`.
fn styles(buffer: &Buffer) -> String {
    let mut out = String::new();
    for y in 0..buffer.area.height {
        let mut runs: Vec<(String, usize)> = Vec::new();
        for x in 0..buffer.area.width {
            let cell = &buffer[(x, y)];
            let style = format!("{:?} {:?}", cell.fg, cell.modifier);
            match runs.last_mut() {
                Some((last, count)) if *last == style => *count += 1,
                _ => runs.push((style, 1)),
            }
        }
        let line: Vec<String> = runs.into_iter().map(|(style, count)| format!("{count} {style}")).collect();
        out.push_str(&line.join(", "));
        out.push('\n');
    }
    out
}

#[test]
fn styles_in_colour_and_without() {
    for (name, colors) in [("colour", Colors::True), ("mono", Colors::Mono)] {
        let mut script = script::stampede();
        script.model.look.colors = colors;
        insta::assert_snapshot!(format!("styles_{name}_80x24"), styles(&picture::render(&script.model, 80, 24)));
    }
}

#[test]
fn a_picture_is_svg_with_every_cell_pinned() {
    let script = script::herd();
    let svg = picture::svg(&script.model, 100, 30);
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    let cells = svg.matches("<text x=").count();
    let drawn = script.text(100, 30).chars().filter(|c| !c.is_whitespace()).count();
    assert_eq!(cells, drawn);
    assert!(!picture::svg(&script::hostile().model, 100, 30).contains('\u{1b}'));
}
