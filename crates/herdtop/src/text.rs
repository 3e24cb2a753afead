//! Text from outside made safe and cut to cells (P2).
//!
//! A key can hold anything: escape sequences, marks that turn the writing
//! direction, characters of no or of double width. Nothing of that may move the
//! picture, so every string that came over the wire passes here before it is drawn.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// What stands for a character that must not reach a terminal.
pub const REPLACEMENT: char = '\u{b7}';
/// The most code points of one grapheme; a pile of combining marks is cut here.
const MARKS: usize = 6;
/// The most bytes looked at; no row is wider.
const MOST_BYTES: usize = 4_096;

/// Which end of a field its text stands at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// At the left.
    Left,
    /// At the right.
    Right,
}

/// Whether a character could move the cursor, turn the direction or vanish.
fn is_hostile(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// The text with every hostile character replaced by a visible dot.
///
/// ```
/// assert_eq!(herdtop::text::clean("user:\u{1b}[2J\n7"), "user:\u{b7}[2J\u{b7}7");
/// ```
pub fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len().min(MOST_BYTES));
    for grapheme in text.graphemes(true) {
        if clean.len() >= MOST_BYTES {
            break;
        }
        clean.extend(grapheme.chars().take(MARKS).map(|c| if is_hostile(c) { REPLACEMENT } else { c }));
    }
    clean
}

/// Width in cells.
pub fn width(text: &str) -> usize {
    text.graphemes(true).map(grapheme_width).sum()
}

/// Terminals give the half-width sound marks a cell of their own, though they extend a grapheme.
fn grapheme_width(grapheme: &str) -> usize {
    let marks = grapheme.chars().filter(|c| matches!(c, '\u{ff9e}' | '\u{ff9f}')).count();
    grapheme.width() + marks
}

/// The clean text in exactly `cells` cells: cut at a grapheme with `ellipsis`, or padded.
pub fn fit(text: &str, cells: usize, align: Align, ellipsis: char) -> String {
    let text = clean(text);
    let have = width(&text);
    let (mut text, have) = if have <= cells { (text, have) } else { cut(&text, cells, ellipsis) };
    let padding = " ".repeat(cells.saturating_sub(have));
    match align {
        Align::Left => {
            text.push_str(&padding);
            text
        }
        Align::Right => padding + &text,
    }
}

fn cut(text: &str, cells: usize, ellipsis: char) -> (String, usize) {
    let mut kept = String::new();
    let mut used = 0;
    for grapheme in text.graphemes(true) {
        let more = grapheme_width(grapheme);
        if used + more >= cells {
            break;
        }
        kept.push_str(grapheme);
        used += more;
    }
    if cells > 0 {
        kept.push(ellipsis);
        used += 1;
    }
    (kept, used)
}

/// A short name that stands for a hidden key: equal keys have equal names.
pub fn disguise(key: &str) -> String {
    // FNV-1a: only has to tell rows apart on one screen, not to resist anyone.
    let hash = key
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("key-{:06x}", hash >> 40)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Key names of the hostile kind: wide, joined, right to left, long, and with control bytes.
    pub(crate) fn hostile() -> Vec<String> {
        vec![
            "商品:東京:価格".into(),
            "👩‍👩‍👧‍👦:family:👍🏽".into(),
            format!("z{}", "\u{301}".repeat(50)),
            "ﾊﾟﾋﾟﾌﾟ:ﾍﾞ".into(),
            "שלום:مرحبا:\u{202e}evil".into(),
            "k".repeat(10_240),
            "a\nb\tc\rd".into(),
            "\u{1b}[2J\u{1b}]0;title\u{7}\u{9b}31m".into(),
            "nul\0nul".into(),
            String::from_utf8_lossy(&[b'x', 0xff, 0xfe, b'y']).into_owned(),
            String::new(),
            "\u{200b}\u{feff}\u{ad}".into(),
        ]
    }

    /// P2: no hostile text is ever wider than its field or holds a control character.
    #[test]
    fn p2_every_text_has_exactly_its_width() {
        for text in hostile() {
            for cells in 0..=30 {
                for align in [Align::Left, Align::Right] {
                    let fitted = fit(&text, cells, align, '…');
                    assert_eq!(width(&fitted), cells, "{text:?} in {cells}");
                    // Said without the function under test: C0, C1, direction marks, invisible characters.
                    let is_bad = |c: char| c.is_control() || "\u{202e}\u{200b}\u{200d}\u{feff}\u{ad}".contains(c);
                    assert!(!fitted.chars().any(is_bad), "{fitted:?}");
                }
            }
        }
    }

    /// P2: the cut is at a grapheme, and the sign of the cut is inside the width.
    #[test]
    fn p2_a_cut_falls_between_graphemes() {
        assert_eq!(fit("商品:東京", 6, Align::Left, '…'), "商品:…");
        assert_eq!(fit("商品:東京", 5, Align::Left, '…'), "商品…");
        assert_eq!(fit("商品:東京", 4, Align::Left, '…'), "商… ");
        assert_eq!(fit("abc", 5, Align::Right, '…'), "  abc");
    }

    #[test]
    fn equal_keys_have_equal_disguises() {
        assert_eq!(disguise("user:42"), disguise("user:42"));
        assert_ne!(disguise("user:42"), disguise("user:43"));
    }
}
