//! The page about the lab names every field of a run's JSON, and no other.
//!
//! `UPDATE=1 cargo test -p herdlab --test reference` writes the table.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use herdlab::play::play;
use herdlab::scenario::Scenario;
use serde_json::Value;

/// A run in which nothing is missing that can be there.
const WHOLE: &str = include_str!("schema/whole.toml");

/// Every path of an object with what stands there; lists are shown by their first part, tallies by one word.
fn paths(value: &Value, at: &str, into: &mut BTreeMap<String, &'static str>) {
    let kind = match value {
        Value::Object(fields) => {
            let tally =
                ["outcomes", "rejections", "misses", "removals", "discards"].iter().any(|name| at.ends_with(name));
            if tally {
                into.insert(at.into(), "counts by label");
                return;
            }
            for (name, value) in fields {
                paths(value, &if at.is_empty() { name.clone() } else { format!("{at}.{name}") }, into);
            }
            return;
        }
        Value::Array(parts) => {
            // The run that is shown leaves no list empty.
            return parts.iter().take(1).for_each(|first| paths(first, &format!("{at}[]"), into));
        }
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Bool(_) => "true or false",
        Value::Null => "number or null",
    };
    into.insert(at.into(), kind);
}

#[test]
fn the_page_names_every_field() {
    let scenario = Scenario::parse("whole", WHOLE).unwrap();
    let run = play(&scenario, &"all".parse().unwrap(), 1).unwrap();
    let mut fields = BTreeMap::new();
    paths(&serde_json::to_value(&run).unwrap(), "", &mut fields);
    let mut table = String::from("| field | is |\n|---|---|\n");
    for (path, kind) in &fields {
        let _ = writeln!(table, "| `{path}` | {kind} |");
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/lab.md");
    let text = fs::read_to_string(&page).unwrap();
    let (head, _) = text.split_once("| field | is |").expect("the page has the table");
    let whole = format!("{head}{table}");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&page, whole).unwrap();
    } else {
        assert_eq!(text, whole, "write it anew with UPDATE=1");
    }
}
