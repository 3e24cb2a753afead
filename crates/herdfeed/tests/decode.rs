//! P4: whatever arrives, decoding gives a line or an error, and never panics.

#[path = "support/samples.rs"]
#[expect(dead_code, reason = "only the lines are wanted here")]
mod samples;

use herdfeed::Line;
use proptest::prelude::*;
use proptest::sample::Index;

proptest! {
    #[test]
    fn p4_any_bytes_are_a_line_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
        // Random bytes are no JSON object, but for the rarest chance of a space and braces.
        prop_assert!(Line::decode(&bytes).is_err());
    }

    #[test]
    fn p4_any_object_with_a_kind_is_a_line_or_an_error(
        kind in prop_oneof!["hello|past|snap|events|lag|bye", "[a-z]{1,8}"],
        rest in r#"("[a-z_]{1,9}":(-?[0-9]{1,25}|null|true|\[\]|\{\}|"[^"\\]{0,9}"),){0,4}"#,
    ) {
        let text = format!(r#"{{{rest}"t":"{kind}"}}"#);
        if let Ok(line) = Line::decode(text.as_bytes()) {
            let again = Line::decode(&line.encode().unwrap());
            prop_assert!(again.is_ok_and(|again| again == line));
        }
    }

    /// A good line with some of its bytes changed, cut off or repeated.
    #[test]
    fn p4_a_damaged_line_is_a_line_or_an_error(
        which in any::<Index>(),
        damage in proptest::collection::vec((any::<Index>(), any::<u8>()), 0..6),
        cut in any::<Index>(),
    ) {
        let lines = samples::lines();
        let mut text = which.get(&lines).encode().unwrap();
        for (place, byte) in damage {
            let place = place.index(text.len());
            text[place] = byte;
        }
        // Every outcome is good that returns; a line that is read can be written again.
        if let Ok(line) = Line::decode(&text) {
            prop_assert!(line.encode().is_ok());
        }
        text.truncate(cut.index(text.len()));
        let whole = text.ends_with(b"}");
        prop_assert!(whole || Line::decode(&text).is_err());
    }
}

#[test]
fn p4_deep_nesting_is_an_error_and_no_stack_overflow() {
    let deep = format!(r#"{{"t":"hello","x":{}"#, "[".repeat(100_000));
    assert!(Line::decode(deep.as_bytes()).is_err());
}
